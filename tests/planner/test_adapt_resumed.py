"""Episodes of ADaPT that were cut off, and gone on with."""

from typing import Any

import pytest

from planbook.planner import Body, BudgetEnded, JournalMismatch, MemoryJournal, Outcome
from planbook.planner.errors import ModelUnavailable
from planbook.sandbox import Sandbox
from tests.planner.players import GOAL, SOLVE, Players, done_by, planned, played

DOES = {"l": ["agent.touch('l')", done_by("l2")], "n": ["rubbish"], "deep": ["print(agent.holding)", SOLVE]}
PLANS = {
    GOAL: planned("(S1 AND S2) OR S3", "l", "m", "r"),
    "m": [planned("S1 OR S1 AND S1", "x"), planned("S1 OR S2", "n", "o")],
    "r": planned("S1", "deep"),
}


def test_an_episode_cut_off_anywhere_ends_in_the_same_journal(sandbox: Sandbox) -> None:
    whole, players = MemoryJournal(), Players(DOES, PLANS)
    ending, _ = played(sandbox, players, journal=whole)
    assert ending.outcome is Outcome.INDIRECT_SUCCESS
    events = list(whole.events.items())
    assert len(events) > 40
    asks = [number for number, ((_, kind, _), _) in enumerate(events) if kind == "ask"]
    for cut in range(len(events)):
        journal = MemoryJournal()
        journal.events = dict(events[:cut])
        again = Replayed(players, skip=sum(ask < cut for ask in asks))
        assert played(sandbox, again, journal=journal)[0] == ending
        assert [(key, timeless(body)) for key, body in journal.events.items()] == [
            (key, timeless(body)) for key, body in events
        ]
        assert len(again.asked) == len(asks) - sum(ask < cut for ask in asks), "nothing is asked twice"


def timeless(body: Body) -> Any:
    reply = body.get("reply")
    return {**body, "reply": {**reply, "seconds": 0.0}} if isinstance(reply, dict) else body


class Replayed(Players):
    """Goes on where other players were cut off: their replies, but for the first so many."""

    def __init__(self, players: Players, skip: int) -> None:
        super().__init__(DOES, PLANS)
        for role, messages, _ in players.asked[:skip]:
            self.model(role).complete(messages, players.asked[0][2])
        self.asked.clear()


class Enough:
    """A guard that ends the budget before the call of this number."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self) -> None:
        if self.left == 0:
            raise BudgetEnded("the budget of calls is used up")
        self.left -= 1


@pytest.mark.parametrize("calls", [0, 3, 7])
def test_a_budget_that_ends_in_the_middle_leaves_no_ending_and_nothing_is_asked_twice(
    sandbox: Sandbox, calls: int
) -> None:
    journal, players = MemoryJournal(), Players(DOES, PLANS)
    with pytest.raises(BudgetEnded):
        played(sandbox, players, journal=journal, guard=Enough(calls))
    assert len(players.asked) == calls
    assert "outcome" not in {kind for _, kind, _ in journal.events}
    ending, _ = played(sandbox, players, journal=journal)
    whole = Players(DOES, PLANS)
    assert played(sandbox, whole)[0] == ending
    assert [(role, messages) for role, messages, _ in players.asked] == [
        (role, messages) for role, messages, _ in whole.asked
    ]


class Unanswered(Players):
    """Players whose model does not answer about one piece of work."""

    def _reply(self, role: str, work: str) -> str:
        if work == "o" and role == "executor":
            raise ModelUnavailable("the server is down")
        return super()._reply(role, work)


def test_a_model_that_does_not_answer_deep_inside_stops_the_run_which_can_be_resumed(sandbox: Sandbox) -> None:
    """It is neither an error of the plan around it nor a sub-task that failed."""
    journal, whole = MemoryJournal(), Players(DOES, PLANS)
    with pytest.raises(ModelUnavailable, match="the server is down"):
        played(sandbox, Unanswered(DOES, PLANS), journal=journal)
    assert "outcome" not in {kind for _, kind, _ in journal.events}
    asked = sum(kind == "ask" for _, kind, _ in journal.events)
    ending, _ = played(sandbox, whole)
    again = Replayed(whole, skip=asked)
    assert played(sandbox, again, journal=journal)[0] == ending
    assert len(again.asked) == len(whole.asked) - asked


def test_another_option_does_not_fit_the_journal(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    played(sandbox, Players(DOES, PLANS), journal=journal)
    with pytest.raises(JournalMismatch):
        played(sandbox, Players(DOES, PLANS), journal=journal, options={"iterations": 2})
