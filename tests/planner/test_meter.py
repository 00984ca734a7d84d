"""One budget for all threads of a run: calls never exceed it, and every event counts once."""

import threading
from collections.abc import Callable

import pytest

from planner import Budget, BudgetEnded, Meter, Scope, Spent
from planner.asking import Roles, as_text
from planner.journal import Body, EventKind, MemoryJournal
from planner.models import OnText, Reply, Sampling, ScriptedModel, Usage
from planner.prompts import Prompt
from planner.templates import PROMPTS

QUESTION: Prompt = PROMPTS["repair"]


def side_by_side(count: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


class Metered(MemoryJournal):
    """A journal as a run has it: what is new is metered."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        super().put(scope, kind, number, body)
        self._meter.saw(kind, body)


class Slow:
    """Answers only when it is let go."""

    name = "slow"

    def __init__(self) -> None:
        self.let_go, self.calls, self._lock = threading.Event(), 0, threading.Lock()

    def complete(self, messages: object, sampling: Sampling, on_text: OnText | None = None) -> Reply:
        with self._lock:
            self.calls += 1
        self.let_go.wait(2)
        return Reply(text="yes", usage=Usage(prompt=3, completion=1))


@pytest.mark.parametrize("calls", [1, 5])
def test_calls_that_are_still_under_way_count(calls: int) -> None:
    meter, model = Meter(Budget(calls=calls)), Slow()
    journal = Metered(meter)
    refused = []

    def ask(number: int) -> None:
        scope = Scope(journal, f"task/{number}", Roles(lambda role: model, {}, guard=meter.before_call))
        try:
            scope.ask("planner", QUESTION, read=as_text, problem="none")
        except BudgetEnded as ended:
            refused.append(str(ended))
            if len(refused) == 7:
                model.let_go.set()

    side_by_side(calls + 7, ask)
    assert (model.calls, meter.spent.calls, meter.spent.tokens) == (calls, calls, 4 * calls)
    assert refused == [f"the budget of {calls} calls is used up"] * 7


def test_nothing_is_lost_between_threads() -> None:
    meter = Meter(price=lambda model, reply: 0.5)
    reply = Reply(text="", usage=Usage(prompt=2, completion=1)).model_dump()
    body: Body = {"model": "m", "left_out": 0, "cut_characters": 0, "reply": reply}

    def spend(number: int) -> None:
        for _ in range(200):
            meter.before_call()
            meter.saw("ask", body)
            meter.saw("act", {"counted": True})
            meter.saw("cell", {})

    side_by_side(6, spend)
    spent = meter.spent
    assert (spent.calls, spent.actions, spent.tokens, spent.money) == (1_200, 1_200, 3_600, 600.0)


def test_what_a_resumed_run_repeats_is_not_asked_and_not_spent() -> None:
    meter = Meter(Budget(calls=1))
    journal = Metered(meter)
    model = ScriptedModel(["one"])
    for _ in range(3):
        scope = Scope(journal, "task/0", Roles(lambda role: model, {}, guard=meter.before_call))
        assert scope.ask("planner", QUESTION, read=as_text, problem="none").value == "one"
    assert meter.spent.calls == 1


@pytest.mark.parametrize(
    ("budget", "spent", "told"),
    [
        (Budget(calls=0), Spent(), "0 calls"),
        (Budget(tokens=1_000), Spent(prompt=600, completion=400), "1,000 tokens"),
        (Budget(money=0.5), Spent(money=0.5), "0.5 money"),
        (Budget(seconds=9), Spent(seconds=9.5), "9.0 seconds"),
    ],
)
def test_a_budget_that_is_used_up_names_its_part(budget: Budget, spent: Spent, told: str) -> None:
    with pytest.raises(BudgetEnded, match=f"the budget of {told} is used up"):
        Meter(budget, spent).before_call()


def test_an_action_needs_actions_and_time_but_no_tokens() -> None:
    meter = Meter(Budget(actions=2, tokens=0), Spent(actions=1))
    meter.before_action()
    meter.saw("act", {"counted": False})
    meter.before_action()
    meter.saw("act", {"counted": True})
    with pytest.raises(BudgetEnded, match="2 actions"):
        meter.before_action()


def test_money_of_unknown_price_does_not_end_a_run() -> None:
    Meter(Budget(money=0.01), Spent(money=None)).before_call()


def test_seconds_go_on_from_where_the_last_sitting_ended() -> None:
    meter = Meter(spent=Spent(seconds=100.0))
    assert 100.0 <= meter.spent.seconds < 130.0
