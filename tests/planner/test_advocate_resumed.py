"""Episodes of Devil's Advocate and of LATS that were cut off, and gone on with."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from planbook.planner import BudgetEnded, MemoryJournal
from planbook.planner.errors import ModelUnavailable
from planbook.sandbox import Sandbox
from tests.planner.counsellors import NO, YES, Counsellors, Says, aligned, played, valued
from tests.planner.pieces import cuts, timeless
from tests.planner.players import SOLVE, code
from tests.planner.test_advocate_pages import Pages, click
from tests.spanning import spans_of


def touch(what: str) -> str:
    return code(f"seen = agent.touch('{what}')", f"note_down('{what}')")


TURNING: Mapping[str, Says] = {
    "plan": ["1. look\n2. bring it", "no", "So.\n1. bring it"],
    "act": [touch("wall"), code("oops()"), "Hm.", "Hm.", "Hm.", code(SOLVE)],
    "remedy": [touch("door"), touch("floor"), code("raise ValueError(seen)"), "NONE"],
    "align": [aligned("One."), aligned("Two.", verdict="NO"), "?", aligned("Three.")],
    "subtask_done": [NO, YES, NO],
}
SEARCHING: Mapping[str, Says] = {
    "plan": ["1. look\n2. bring it", "So.\n1. bring it"],
    "act": [touch("wall"), touch("door"), touch("floor"), touch("ceiling"), code(SOLVE)],
    "value": [valued(9), valued(1), valued(5)],
}
MAPPING: Mapping[str, Says] = {
    "act": [click(1), click(3), click(13)],
    "remedy": [click(2), "NONE"],
    "align": [aligned(), aligned(verdict="NO"), aligned()],
    "map": click(12),
    "summary": "A page.",
}
EPISODES: Mapping[str, tuple[str, Mapping[str, Says], Mapping[str, Any], Mapping[str, Any]]] = {
    "turning back": ("devils-advocate", TURNING, {"remedies": 2, "rounds": 3}, {}),
    "searching": ("lats", SEARCHING, {"samples": 2, "expansions": 2}, {}),
    "mapping": ("devils-advocate", MAPPING, {"summarise_above": 200}, {"environment": Pages}),
}


def play_again(sandbox: Sandbox, name: str, says: Counsellors, journal: MemoryJournal, **terms: Any) -> Any:
    method, _, options, more = EPISODES[name]
    made = {key: make() for key, make in more.items()}
    return played(sandbox, says, method, options=options, journal=journal, **made, **terms)[0]


class GoneOn(Counsellors):
    """Goes on where others were cut off: their replies, but for the first so many."""

    def __init__(self, whole: Counsellors, says: Mapping[str, Says], skip: int) -> None:
        super().__init__(**says)
        for _, name, prompt, _ in whole.asked[:skip]:
            self.say(name, prompt)


@pytest.mark.parametrize("name", EPISODES)
def test_an_episode_cut_off_anywhere_ends_in_the_same_journal(sandbox: Sandbox, name: str) -> None:
    whole, says = MemoryJournal(), Counsellors(**EPISODES[name][1])
    ending = play_again(sandbox, name, says, whole)
    assert ending.outcome.solved
    events = list(whole.events.items())
    assert "rewind" in {kind for (_, kind, _), _ in events}
    assert all(spans_of(whole, name) for name in ("plan", "branch"))
    asks = [number for number, ((_, kind, _), _) in enumerate(events) if kind == "ask"]
    for cut in cuts(whole):
        journal = MemoryJournal()
        journal.events = dict(events[:cut])
        skip = sum(ask < cut for ask in asks)
        again = GoneOn(says, EPISODES[name][1], skip)
        assert play_again(sandbox, name, again, journal) == ending
        assert timeless(journal) == timeless(whole)
        assert len(again.asked) == len(asks) - skip, "nothing is asked twice"


def ending_after(calls: int) -> Callable[[], None]:
    """A guard that ends the budget after so many calls and actions."""
    left = iter(range(calls))

    def guard() -> None:
        if next(left, None) is None:
            raise BudgetEnded("the budget is used up")

    return guard


@pytest.mark.parametrize("calls", [0, 9])
@pytest.mark.parametrize("name", EPISODES)
def test_a_budget_that_ends_in_the_middle_leaves_no_ending(sandbox: Sandbox, name: str, calls: int) -> None:
    says, journal = Counsellors(**EPISODES[name][1]), MemoryJournal()
    with pytest.raises(BudgetEnded):
        play_again(sandbox, name, says, journal, guard=ending_after(calls))
    assert "outcome" not in {kind for _, kind, _ in journal.events}
    assert not spans_of(journal, "plan"), "the round is open"
    whole = MemoryJournal()
    ending = play_again(sandbox, name, Counsellors(**EPISODES[name][1]), whole)
    assert play_again(sandbox, name, says, journal) == ending
    assert set(journal.events) == set(whole.events)


def test_a_model_that_does_not_answer_stops_the_run(sandbox: Sandbox) -> None:
    class WholeReply(Counsellors):
        def say(self, name: str, prompt: str) -> str:
            if name == "map":
                raise ModelUnavailable("the server is down")
            return super().say(name, prompt)

    journal = MemoryJournal()
    with pytest.raises(ModelUnavailable, match="the server is down"):
        play_again(sandbox, "mapping", WholeReply(**MAPPING), journal)
    assert "outcome" not in {kind for _, kind, _ in journal.events}
