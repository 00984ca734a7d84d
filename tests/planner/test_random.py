"""The baseline that draws its actions."""

import pytest

from planbook.envs import Selection, load_environment
from planbook.planner import METHODS, Ending, Episode, EpisodeSettings, MemoryJournal, Outcome, play
from planbook.planner.strategies.agentkit import choices_in
from planbook.sandbox import Sandbox


def drawn(
    sandbox: Sandbox,
    environment: str,
    task: str,
    *,
    seed: str = "0/0",
    actions: int = 12,
    journal: MemoryJournal | None = None,
) -> tuple[Ending, Episode]:
    (chosen,) = load_environment(environment).select(Selection(ids=(task,)))
    terms = EpisodeSettings(actions=actions, seed=seed)
    episode = Episode(chosen, load_environment(environment)(), sandbox, journal or MemoryJournal(), settings=terms)
    return play(episode, METHODS["random"].play, METHODS["random"].options()), episode


ENVIRONMENTS = {
    "alfworld": "generated/pick_and_place/0",
    "crafter": "survive/0",
    "minecraft": "MT1/chest/0",
    "shopping": "test/0",
    "tabletop": "put_block_in_bowl/0",
    "textcraft": "test/17",
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_it_plays_by_its_seed(sandbox: Sandbox, environment: str) -> None:
    taken = []
    for seed in ("0/0", "0/0", "1/0"):
        ending, episode = drawn(sandbox, environment, ENVIRONMENTS[environment], seed=seed)
        assert ending.outcome is not Outcome.BROKEN, ending.message
        assert ending.error_steps == (ending.outcome is Outcome.OUT_OF_BUDGET)
        taken.append([step.action for step in episode.steps])
    assert taken[0] == taken[1]
    assert taken[0] != taken[2]


def test_where_every_argument_has_few_values_all_actions_are_drawn_from() -> None:
    """Not only those that would have an effect: the row Random of the paper's table 1."""
    environment = load_environment("crafter")()
    environment.reset(environment.select(Selection(ids=("survive/0",)))[0])
    assert len(choices_in(environment)) == len(set(choices_in(environment))) == 17


def test_where_it_cannot_play_it_says_so(sandbox: Sandbox) -> None:
    ending, episode = drawn(sandbox, "toy", "fetch/0")
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "parse", 0)
    assert "random cannot play toy: it lists neither possible actions nor goals" in episode.cells[0].feedback.text


def test_an_episode_cut_off_is_gone_on_with(sandbox: Sandbox) -> None:
    whole = MemoryJournal()
    ending, _ = drawn(sandbox, "textcraft", "test/17", actions=4, journal=whole)
    events = list(whole.events.items())
    for cut in range(len(events)):
        journal = MemoryJournal()
        journal.events = dict(events[:cut])
        assert drawn(sandbox, "textcraft", "test/17", actions=4, journal=journal)[0] == ending
        assert journal.events == whole.events
