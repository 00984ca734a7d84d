"""One budget for all threads of a run: calls never exceed it, and every event counts once."""

import threading
from collections.abc import Callable

import pytest

from planbook.planner import (
    Allows,
    Amount,
    Budget,
    BudgetEnded,
    Meter,
    OnText,
    Reply,
    Sampling,
    Scope,
    ScriptedModel,
    Spent,
    Usage,
    amount_of,
)
from planbook.planner.journal import Body, EventKind, MemoryJournal
from planbook.planner.models.types import asking
from planbook.planner.prompts import PROMPTS, Prompt
from planbook.planner.roles import Roles, as_text

QUESTION: Prompt = PROMPTS["repair"]


class ProcessLedger:
    """A ledger in memory; that of a run is in its store."""

    def __init__(self, spent: Amount) -> None:
        self._spent, self._reserved = spent, dict[str, Amount]()
        self._lock, self._actions = threading.Lock(), 0

    def reserve(self, call: str, most: Amount, allows: Allows) -> bool:
        """Reserve an amount for a call if ``allows`` returns True. Return that result."""
        with self._lock:
            others = (amount for other, amount in self._reserved.items() if other != call)
            if allowed := allows(self._spent, sum(others, Amount())):
                self._reserved[call] = most
            return allowed

    def settle(self, call: str, spent: Amount) -> None:
        """Replace the reservation of a call by its cost."""
        with self._lock:
            self._reserved.pop(call, None)
            self._spent += spent

    def release(self, call: str) -> None:
        """Drop the reservation of a call, if it still has one."""
        with self._lock:
            self._reserved.pop(call, None)

    def act(self, number: int) -> int:
        """Count actions. Return the number of actions so far."""
        with self._lock:
            self._actions += number
            return self._actions


def limited(
    budget: Budget,
    spent: Spent | None = None,
    price: Callable[[str, Reply], float | None] = lambda model, reply: 0.0,
) -> Meter:
    """A meter with a ledger of its own."""
    return Meter(budget, spent, price, ProcessLedger(amount_of(spent or Spent())))


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
        self._meter.count(kind, body)


class Slow:
    """Answers only when it is let go."""

    name = "slow"

    def __init__(self) -> None:
        self.calls = self.at_once = self.most_at_once = 0
        self._let_go, self._lock = threading.Event(), threading.Lock()

    def let_go_after(self, seconds: float) -> None:
        threading.Timer(seconds, self._let_go.set).start()

    def complete(self, messages: object, sampling: Sampling, on_text: OnText | None = None) -> Reply:
        with self._lock:
            self.calls += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self._let_go.wait(2)
        with self._lock:
            self.at_once -= 1
        return Reply(text="yes", usage=Usage(prompt=3, completion=1))


@pytest.mark.parametrize("calls", [1, 5])
def test_calls_that_are_still_under_way_count(calls: int) -> None:
    meter, model = limited(Budget(calls=calls)), Slow()
    journal = Metered(meter)
    refused = []

    def ask(number: int) -> None:
        scope = Scope(journal, f"task/{number}", Roles(lambda role: model, {}, meter=meter))
        try:
            scope.ask("planner", QUESTION, read=as_text, problem="none")
        except BudgetEnded as ended:
            refused.append(str(ended))

    model.let_go_after(0.2)
    side_by_side(calls + 7, ask)
    assert (model.calls, meter.spent.calls, meter.spent.tokens) == (calls, calls, 4 * calls)
    assert refused == [f"the budget of {calls} call{'s' * (calls > 1)} is used up"] * 7


@pytest.mark.parametrize("limit", [{"tokens": 9_000}, {"money": 9.0}])
def test_what_calls_under_way_may_cost_is_reserved(limit: dict[str, float]) -> None:
    """One call may take about 4,000 tokens, and takes 4: two run at a time, and all of them get their turn."""
    meter, model = limited(Budget.model_validate(limit), price=a_dollar_for_a_thousand), Slow()
    journal = Metered(meter)

    def ask(number: int) -> None:
        scope = Scope(journal, f"task/{number}", Roles(lambda role: model, {}, meter=meter))
        scope.ask("planner", QUESTION, read=as_text, problem="none")

    model.let_go_after(0.2)
    side_by_side(6, ask)
    assert (model.calls, model.most_at_once) == (6, 2)


def a_dollar_for_a_thousand(model: str, reply: Reply) -> float:
    return reply.usage.total / 1_000


def test_what_is_left_is_told_when_the_next_call_may_take_more() -> None:
    told = "the budget of 5,000 tokens has 1,000 left, and the next call may take 4,100"
    meter = limited(Budget(tokens=5_000), Spent(prompt=4_000))
    with pytest.raises(BudgetEnded, match=told), meter.call("m", Usage(prompt=100, completion=4_000)):
        pass


def test_a_call_that_failed_gives_back_what_was_reserved() -> None:
    meter = limited(Budget(calls=1))
    with pytest.raises(ZeroDivisionError), meter.call("m", Usage()):
        raise ZeroDivisionError
    with meter.call("m", Usage()):
        pass


def test_a_plan_that_asks_while_it_is_written_does_not_wait_for_itself() -> None:
    meter = limited(Budget(calls=1))
    inner = asking(place="task/0/inner/0")
    with meter.call("m", Usage()), inner, pytest.raises(BudgetEnded), meter.call("m", Usage(), wait=pytest.fail):
        pass


def test_nothing_is_lost_between_threads() -> None:
    meter = Meter(price=lambda model, reply: 0.5)
    reply = Reply(text="", usage=Usage(prompt=2, completion=1)).model_dump()
    body: Body = {"model": "m", "left_out": 0, "cut_characters": 0, "reply": reply}

    def spend(number: int) -> None:
        for _ in range(200):
            with meter.call("m", Usage()):
                meter.count("ask", body)
            meter.count("act", {"counted": True})
            meter.count("cell", {})

    side_by_side(6, spend)
    spent = meter.spent
    assert (spent.calls, spent.actions, spent.tokens, spent.money) == (1_200, 1_200, 3_600, 600.0)


def test_what_a_resumed_run_repeats_is_not_asked_and_not_spent() -> None:
    meter = limited(Budget(calls=1))
    journal = Metered(meter)
    model = ScriptedModel(["one"])
    for _ in range(3):
        scope = Scope(journal, "task/0", Roles(lambda role: model, {}, meter=meter))
        assert scope.ask("planner", QUESTION, read=as_text, problem="none").value == "one"
    assert meter.spent.calls == 1


@pytest.mark.parametrize(
    ("budget", "spent", "told"),
    [
        (Budget(calls=0), Spent(), "0 calls"),
        (Budget(tokens=1_000), Spent(prompt=600, completion=400), "1,000 tokens"),
        (Budget(money=0.5), Spent(money=0.5), r"\$0\.5"),
        (Budget(seconds=9), Spent(seconds=9.5), "9 seconds"),
    ],
)
def test_a_budget_that_is_used_up_names_its_part(budget: Budget, spent: Spent, told: str) -> None:
    with (
        pytest.raises(BudgetEnded, match=f"the budget of {told} is used up"),
        limited(budget, spent).call("m", Usage()),
    ):
        pass


def test_an_action_needs_actions_and_time_but_no_tokens() -> None:
    meter = limited(Budget(actions=2, tokens=0), Spent(actions=1))
    meter.before_action()
    meter.count("act", {"counted": False})
    meter.before_action()
    meter.count("act", {"counted": True})
    with pytest.raises(BudgetEnded, match="2 actions"):
        meter.before_action()


def test_money_of_unknown_price_does_not_end_a_run() -> None:
    with limited(Budget(money=0.01), Spent(money=None)).call("m", Usage()):
        pass


def test_seconds_go_on_from_where_the_last_sitting_ended() -> None:
    meter = Meter(spent=Spent(seconds=100.0))
    assert 100.0 <= meter.spent.seconds < 130.0
