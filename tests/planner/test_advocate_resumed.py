"""Episodes of Devil's Advocate and LATS that are interrupted and resumed."""

from collections.abc import Mapping
from typing import Any

import pytest

from planbook.planner import BudgetEnded, Ending, MemoryJournal
from planbook.planner.errors import ModelUnavailable
from planbook.sandbox import Sandbox
from tests.planner.advocate_kit import NO, YES, AdvocateModels, QuestionReply, aligned, played, valued
from tests.planner.episode_kit import SOLVE, code
from tests.planner.streaming_kit import cut_journals, untimed
from tests.planner.test_advocate_pages import Pages, click
from tests.spanning import spans_of


def touch(what: str) -> str:
    return code(f"seen = agent.touch('{what}')", f"note_down('{what}')")


TURNING: Mapping[str, QuestionReply] = {
    "plan": ["1. look\n2. bring it", "no", "So.\n1. bring it"],
    "act": [touch("wall"), code("oops()"), "Hm.", "Hm.", "Hm.", code(SOLVE)],
    "remedy": [touch("door"), touch("floor"), code("raise ValueError(seen)"), "NONE"],
    "align": [aligned("One."), aligned("Two.", verdict="NO"), "?", aligned("Three.")],
    "subtask_done": [NO, YES, NO],
}
SEARCHING: Mapping[str, QuestionReply] = {
    "plan": ["1. look\n2. bring it", "So.\n1. bring it"],
    "act": [touch("wall"), touch("door"), touch("floor"), touch("ceiling"), code(SOLVE)],
    "value": [valued(9), valued(1), valued(5)],
}
MAPPING: Mapping[str, QuestionReply] = {
    "act": [click(1), click(3), click(13)],
    "remedy": [click(2), "NONE"],
    "align": [aligned(), aligned(verdict="NO"), aligned()],
    "map": click(12),
    "summary": "A page.",
}
EPISODES: Mapping[str, tuple[str, Mapping[str, QuestionReply], Mapping[str, Any], Mapping[str, Any]]] = {
    "turning back": ("devils-advocate", TURNING, {"remedies": 2, "rounds": 3}, {}),
    "searching": ("lats", SEARCHING, {"samples": 2, "expansions": 2}, {}),
    "mapping": ("devils-advocate", MAPPING, {"summarise_above": 200}, {"environment": Pages}),
}


def replay(sandbox: Sandbox, name: str, models: AdvocateModels, journal: MemoryJournal, **settings: Any) -> Ending:
    method, _, options, more = EPISODES[name]
    made = {key: make() for key, make in more.items()}
    return played(sandbox, models, method, options=options, journal=journal, **made, **settings)[0]


@pytest.mark.parametrize("name", EPISODES)
def test_an_episode_cut_off_anywhere_ends_in_the_same_journal(sandbox: Sandbox, name: str) -> None:
    replies = EPISODES[name][1]
    complete, models = MemoryJournal(), AdvocateModels(**replies)
    ending = replay(sandbox, name, models, complete)
    assert ending.outcome.solved
    assert "rewind" in {kind for _, kind, _ in complete.events}
    assert all(spans_of(complete, name) for name in ("plan", "branch"))
    for journal, recorded in cut_journals(complete):
        resumed_models = AdvocateModels(**replies)
        for _, question, prompt, _ in models.asked[:recorded]:
            resumed_models.say(question, prompt)
        assert replay(sandbox, name, resumed_models, journal) == ending
        assert untimed(journal) == untimed(complete)
        assert len(resumed_models.asked) == len(models.asked) - recorded, "nothing is asked twice"


@pytest.mark.parametrize("name", EPISODES)
def test_an_episode_out_of_budget_has_no_ending_and_can_be_resumed(sandbox: Sandbox, name: str) -> None:
    models, journal, calls = AdvocateModels(**EPISODES[name][1]), MemoryJournal(), iter(range(9))

    def guard() -> None:
        if next(calls, None) is None:
            raise BudgetEnded("the budget is used up")

    with pytest.raises(BudgetEnded):
        replay(sandbox, name, models, journal, guard=guard)
    assert "outcome" not in {kind for _, kind, _ in journal.events}
    assert not spans_of(journal, "plan"), "the round has not ended"
    complete = MemoryJournal()
    ending = replay(sandbox, name, AdvocateModels(**EPISODES[name][1]), complete)
    assert replay(sandbox, name, models, journal) == ending
    assert set(journal.events) == set(complete.events)


def test_an_unavailable_model_stops_the_run(sandbox: Sandbox) -> None:
    def down(prompt: str) -> str:
        raise ModelUnavailable("the server is down")

    journal = MemoryJournal()
    with pytest.raises(ModelUnavailable, match="the server is down"):
        replay(sandbox, "mapping", AdvocateModels(**{**MAPPING, "map": down}), journal)
    assert "outcome" not in {kind for _, kind, _ in journal.events}
