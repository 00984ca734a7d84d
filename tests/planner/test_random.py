"""The baseline that takes random actions."""

import pytest

from planbook.envs import Action, Observation, Selection, action, load_environment
from planbook.envs.toy import Toy
from planbook.planner import Ending, Episode, Outcome
from planbook.planner.strategies.without_model import possible_choices
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import TASK, played


def play_random(sandbox: Sandbox, name: str, task_id: str, seed: str = "0/0") -> tuple[Ending, Episode]:
    environment = load_environment(name)
    (task,) = environment.select(Selection(ids=(task_id,)))
    return played(sandbox, None, "random", environment=environment(), task=task, actions=12, seed=seed)


@pytest.mark.parametrize(
    ("environment", "task"),
    [
        ("alfworld", "generated/pick_and_place/0"),
        ("crafter", "survive/0"),
        ("minecraft", "MT1/chest/0"),
        ("shopping", "test/0"),
        ("tabletop", "put_block_in_bowl/0"),
        ("textcraft", "test/17"),
    ],
)
def test_the_seed_decides_the_actions(sandbox: Sandbox, environment: str, task: str) -> None:
    taken = []
    for seed in ("0/0", "0/0", "1/0"):
        ending, episode = play_random(sandbox, environment, task, seed)
        assert ending.outcome is not Outcome.BROKEN, ending.message
        assert ending.error_steps == (ending.outcome is Outcome.OUT_OF_BUDGET)
        taken.append([step.action for step in episode.steps])
    assert taken[0] == taken[1]
    assert taken[0] != taken[2]


def test_all_actions_are_drawn_where_arguments_have_few_values() -> None:
    """Actions that have no effect are drawn too, as for the row "Random" in table 1 of the paper."""
    environment = load_environment("crafter")()
    environment.reset(environment.select(Selection(ids=("survive/0",)))[0])
    assert len(possible_choices(environment)) == len(set(possible_choices(environment))) == 17


class Waiting(Toy):
    """A toy with an action whose arguments can be enumerated."""

    @action("agent.wait(True) -> ''")
    def wait(self, long: bool, times: int = 2) -> Observation:
        """Wait."""
        return Observation("")


def test_an_argument_has_the_values_of_its_type_or_its_default() -> None:
    environment = Waiting()
    environment.reset(TASK)
    assert possible_choices(environment) == [Action("wait", (True, 2)), Action("wait", (False, 2))]


def test_the_random_method_explains_why_it_cannot_play_an_environment(sandbox: Sandbox) -> None:
    ending, episode = play_random(sandbox, "toy", "fetch/0")
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "parse", 0)
    assert "random cannot play toy: it lists neither possible actions nor goals" in episode.cells[0].feedback.text
