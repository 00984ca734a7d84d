"""All threads of a run share one budget. Calls never exceed it, and every event counts once."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from planbook.planner import (
    Budget,
    BudgetEnded,
    Meter,
    OnText,
    Reply,
    Sampling,
    Scope,
    ScriptedModel,
    Spending,
    Usage,
    amount_of,
)
from planbook.planner.journal import Body, EventKind, MemoryJournal
from planbook.planner.models.types import Model, asking
from planbook.planner.prompts import PROMPTS
from planbook.planner.replies import as_text
from planbook.planner.roles import Roles
from planbook.store import Store

Price = Callable[[str, Reply], float | None]
NewMeter = Callable[..., Meter]


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[NewMeter]:
    """A function that makes meters whose ledger is in a store."""
    with closing(Store(tmp_path / "run.db")) as store:

        def new_meter(budget: Budget, spent: Spending | None = None, price: Price = lambda model, reply: 0.0) -> Meter:
            spent = spent or Spending()
            store.ledger.reset(amount_of(spent), spent.actions)
            return Meter(budget, spent, price, store.ledger)

        yield new_meter


def max_concurrent(count: int, work: Callable[[int], object]) -> None:
    with ThreadPoolExecutor(count) as pool:
        assert len(list(pool.map(work, range(count)))) == count


class MeteredJournal(MemoryJournal):
    """A journal whose new events are counted by a meter, as in a run."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        super().put(scope, kind, number, body)
        self._meter.count(kind, body)


class SlowModel:
    """A model that answers once ``together`` calls have been in progress for a short time. It counts its calls."""

    name = "slow"

    def __init__(self, together: int = 2) -> None:
        self.calls = self.running = self.most_running = 0
        self._together = together
        self._released, self._lock = threading.Event(), threading.Lock()

    def complete(self, messages: object, sampling: Sampling, on_text: OnText | None = None) -> Reply:
        with self._lock:
            self.calls += 1
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            if self.running == self._together:
                threading.Timer(0.2, self._released.set).start()
        self._released.wait(20)
        with self._lock:
            self.running -= 1
        return Reply(text="yes", usage=Usage(prompt=3, completion=1))


def ask(journal: MemoryJournal, model: Model, meter: Meter, number: int = 0) -> str:
    scope = Scope(journal, f"task/{number}", Roles(lambda role: model, {}, meter=meter))
    return scope.ask("planner", PROMPTS["repair"], read=as_text, problem="none").value


@pytest.mark.parametrize("calls", [1, 5])
def test_calls_in_progress_count(limited: NewMeter, calls: int) -> None:
    meter, model = limited(Budget(calls=calls)), SlowModel(together=calls)
    journal = MeteredJournal(meter)
    refused = []

    def work(number: int) -> None:
        try:
            ask(journal, model, meter, number)
        except BudgetEnded as ended:
            refused.append(str(ended))

    max_concurrent(calls + 7, work)
    assert (model.calls, meter.spent.calls, meter.spent.tokens) == (calls, calls, 4 * calls)
    assert refused == [f"the budget of {calls} call{'s' * (calls > 1)} is used up"] * 7


@pytest.mark.parametrize("limit", [{"tokens": 9_000}, {"money": 9.0}])
def test_the_highest_cost_of_a_call_in_progress_is_reserved(limited: NewMeter, limit: dict[str, float]) -> None:
    """A call may use about 4,000 tokens, but uses 4. Two calls run at a time, and all of them run in the end."""
    meter = limited(Budget.model_validate(limit), price=lambda model, reply: reply.usage.total / 1_000)
    model, journal = SlowModel(), MeteredJournal(meter)
    max_concurrent(6, lambda number: ask(journal, model, meter, number))
    assert (model.calls, model.most_running) == (6, 2)


def test_a_failed_call_releases_its_reservation(limited: NewMeter) -> None:
    meter = limited(Budget(calls=1))
    with pytest.raises(ZeroDivisionError), meter.reserve("m", Usage()):
        raise ZeroDivisionError
    with meter.reserve("m", Usage()):
        pass


def test_a_call_within_a_call_does_not_wait_for_the_outer_one(limited: NewMeter) -> None:
    meter = limited(Budget(calls=1))
    inner = asking(place="task/0/inner/0")
    with meter.reserve("m", Usage()), inner, pytest.raises(BudgetEnded), meter.reserve("m", Usage(), wait=pytest.fail):
        pass


def test_no_event_is_lost_between_threads() -> None:
    meter = Meter(price=lambda model, reply: 0.5)
    reply = Reply(text="", usage=Usage(prompt=2, completion=1)).model_dump()
    body: Body = {"model": "m", "left_out": 0, "cut_characters": 0, "reply": reply}

    def spend(number: int) -> None:
        for _ in range(200):
            with meter.reserve("m", Usage()):
                meter.count("ask", body)
            meter.count("act", {"counted": True})
            meter.count("cell", {})

    max_concurrent(6, spend)
    spent = meter.spent
    assert (spent.calls, spent.actions, spent.tokens, spent.money) == (1_200, 1_200, 3_600, 600.0)


def test_a_recorded_reply_costs_nothing_again(limited: NewMeter) -> None:
    meter = limited(Budget(calls=1))
    journal, model = MeteredJournal(meter), ScriptedModel(["one"])
    assert [ask(journal, model, meter) for _ in range(3)] == ["one"] * 3
    assert meter.spent.calls == 1


@pytest.mark.parametrize(
    ("budget", "spent", "message"),
    [
        (Budget(calls=0), Spending(), "0 calls is used up"),
        (Budget(calls=10), Spending(calls=13), "10 calls is used up: 13 spent"),
        (Budget(tokens=1_000), Spending(prompt=600, completion=400), "1,000 tokens is used up"),
        (Budget(money=0.5), Spending(money=0.5), r"\$0\.5 is used up"),
        (Budget(seconds=9), Spending(seconds=9.5), "9 seconds is used up"),
        (Budget(seconds=2e6), Spending(seconds=2e6 + 1), "2,000,000 seconds is used up"),
        (Budget(tokens=5_000), Spending(prompt=4_000), "5,000 tokens has 1,000 left, and the next call may take 4,100"),
    ],
)
def test_a_call_beyond_the_budget_is_refused(limited: NewMeter, budget: Budget, spent: Spending, message: str) -> None:
    most = Usage(prompt=100, completion=4_000)
    with pytest.raises(BudgetEnded, match=f"the budget of {message}"), limited(budget, spent).reserve("m", most):
        pass


@pytest.mark.parametrize(
    ("limits", "spent"),
    [
        ({"calls": 10}, Spending(calls=13)),
        ({"calls": 0}, Spending(calls=13)),
        ({"calls": 10, "formulator": 0.5}, Spending(calls=130)),
        ({"tokens": 5_000, "formulator": 0.5}, Spending(prompt=2_000)),
        ({"money": 0.07}, Spending(money=0.123456)),
        ({"seconds": 9}, Spending(seconds=30.01)),
    ],
)
def test_the_limit_that_is_named_is_enough(limited: NewMeter, limits: dict[str, float], spent: Spending) -> None:
    budget, most = Budget.model_validate(limits), Usage(prompt=100, completion=4_000)
    with pytest.raises(BudgetEnded) as refused, limited(budget, spent).reserve("m", most):
        pass
    name, _, larger = refused.value.suggested_limit.partition("=")
    with limited(Budget.model_validate({**limits, name: larger}), spent).reserve("m", most):
        pass


def test_an_action_needs_actions_and_no_tokens(limited: NewMeter) -> None:
    meter = limited(Budget(actions=2, tokens=0), Spending(actions=1))
    meter.before_action()
    meter.count("act", {"counted": False})
    meter.before_action()
    meter.count("act", {"counted": True})
    with pytest.raises(BudgetEnded, match="2 actions"):
        meter.before_action()


def test_an_unknown_price_does_not_end_a_run(limited: NewMeter) -> None:
    with limited(Budget(money=0.01), Spending(money=None)).reserve("m", Usage()):
        pass


def test_seconds_continue_those_of_earlier_invocations() -> None:
    meter = Meter(spent=Spending(seconds=100.0))
    assert 100.0 <= meter.spent.seconds < 130.0
