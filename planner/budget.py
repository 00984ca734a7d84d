"""The budget of a whole run, across all roles. The amounts spent follow from the recorded events.

A ledger counts the amounts that a run has spent on model calls and has reserved for calls in progress.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import Field

from planbook.planner.errors import BudgetEnded
from planbook.planner.journal import Body, EventKind
from planbook.planner.models.types import Reply, Usage, journal_place
from planbook.planner.types import Record


@dataclass(frozen=True)
class Amount:
    """The cost of model calls, or an upper limit on it. ``money`` is in US dollars."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)


Allows = Callable[[Amount, Amount], bool]
"""Takes the amounts spent and reserved by other calls. Returns True if one more call may begin now."""


class Ledger(Protocol):
    """The account of a run, shared by its threads and, in the run's store, by its processes."""

    def reserve(self, call: str, most: Amount, allows: Allows) -> bool:
        """Reserve an amount for a call, in one atomic step, if ``allows`` returns True. Return True if it did."""

    def settle(self, call: str, spent: Amount) -> None:
        """Replace the reservation of a call by its cost."""

    def release(self, call: str) -> None:
        """Drop the reservation of a call, if it still has one."""

    def act(self, number: int) -> int:
        """Count actions. Return the number of actions that all users of the account have taken so far."""


class Budget(Record):
    """Limits of a run; None means no limit. ``money`` is in US dollars."""

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0)
    actions: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
    formulator: float | None = Field(default=None, ge=0, lt=1, exclude_if=lambda share: share is None)
    """Share of each limit, except that on actions, that is reserved for writing the manual of a build."""

    def manual_share(self, name: str) -> float:
        """Return the part of a limit that is reserved for the manual; a whole number of calls or tokens."""
        limit = getattr(self, name)
        if not self.formulator or limit is None or name == "actions":
            return 0
        share: float = limit * self.formulator
        return share if name in ("money", "seconds") else int(share)


class Spent(Record):
    """The amounts spent in a run or any part of it. Two can be added.

    ``prompt``, ``cached`` (included in ``prompt``) and ``completion`` are tokens; ``estimated`` is True if a server did
    not count some of them. ``money`` is None if a price is unknown. Replies from a recording count with their tokens,
    but cost nothing; ``replayed`` is their number.
    """

    calls: int = 0
    replayed: int = 0
    reworded: int = 0
    """Number of recorded replies to a prompt with the same data in other words."""
    shortened: int = 0
    """Number of calls whose prompt was cut to fit the context."""
    stopped: int = 0
    """Number of calls whose streamed reply was stopped before its end."""
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    estimated: bool = False
    money: float | None = 0.0
    actions: int = 0
    waited: float = 0.0
    """Seconds that models took to answer, summed over the calls."""
    seconds: float = 0.0
    """Wall-clock seconds during which the run was played."""

    @property
    def tokens(self) -> int:
        """Number of prompt and completion tokens."""
        return self.prompt + self.completion

    def __add__(self, other: "Spent") -> "Spent":
        summable = Spent.model_fields.keys() - {"estimated", "money"}
        sums = {name: getattr(self, name) + getattr(other, name) for name in summable}
        money = None if self.money is None or other.money is None else self.money + other.money
        return Spent(**sums, estimated=self.estimated or other.estimated, money=money)


class Meter:
    """Counts the amounts that all threads of a run spend, and enforces the budget.

    ``price`` returns the cost of a reply in dollars, or None if the model's price is unknown. ``spent`` holds the
    amounts of earlier invocations. Before a call, its highest possible cost is reserved in the ``ledger``, which all
    processes of a run share; a budget that limits calls, tokens, money or actions needs one. So calls, tokens and money
    stay within the budget. Concurrent episodes may exceed a limit on actions by those taken at the same moment.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        spent: Spent | None = None,
        price: Callable[[str, Reply], float | None] = lambda model, reply: 0.0,
        ledger: Ledger | None = None,
    ) -> None:
        self.budget, self._price = budget or Budget(), price
        self._before, self._own = spent or Spent(), Spent()
        self._lock, self._seconds = threading.Lock(), self._before.seconds
        self._begun: float | None = time.monotonic()
        self._shared = ledger
        self._thread = threading.local()
        self._formulating = False
        self._actions = 0
        """Number of actions of all processes, as the ledger last reported it."""

    @property
    def spent(self) -> Spent:
        """The amounts spent so far, earlier invocations included."""
        with self._lock:
            return (self._before + self._own).model_copy(update={"seconds": self._elapsed()})

    def stop_clock(self) -> None:
        """Stop counting seconds, because the run is paused."""
        with self._lock:
            self._seconds, self._begun = self._elapsed(), None

    def start_clock(self) -> None:
        """Resume counting seconds."""
        with self._lock:
            self._seconds, self._begun = self._elapsed(), time.monotonic()

    @contextmanager
    def formulating(self) -> Iterator[None]:
        """Allow the part reserved for the manual to be spent."""
        self._formulating = True
        try:
            yield
        finally:
            self._formulating = False

    def check_time(self) -> None:
        """Raise BudgetEnded if the seconds are used up."""
        self._check_limit("seconds", self.spent.seconds)

    @contextmanager
    def call(self, model: str, most: Usage, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Reserve the highest possible cost of a call until its reply is recorded or it fails. Raises BudgetEnded.

        While only the reservations of other calls are in the way, ``wait`` is called repeatedly.
        """
        self.check_time()
        if not self.limits_calls:
            yield
            return
        key, amount = journal_place(), self._amount(model, most)
        while not self._ledger.reserve(key, amount, lambda spent, reserved: self._allows(amount, spent, reserved)):
            wait()
            self.check_time()
        outer, self._thread.is_asking = self._is_asking, True
        try:
            yield
        finally:
            self._thread.is_asking = outer
            self._ledger.release(key)

    @property
    def _ledger(self) -> Ledger:
        if self._shared is None:
            raise ValueError("a meter whose budget limits calls, tokens, money or actions needs a ledger")
        return self._shared

    @property
    def limits_calls(self) -> bool:
        """True if the budget limits the cost of model calls."""
        return any(limit is not None for limit in (self.budget.calls, self.budget.tokens, self.budget.money))

    @property
    def _is_asking(self) -> bool:
        """True if this thread is already asking a model: a streaming plan may ask another."""
        return getattr(self._thread, "is_asking", False)

    def _allows(self, call: Amount, spent: Amount, reserved: Amount) -> bool:
        """Return True if a call may begin now. Raises BudgetEnded if it never may.

        A thread that is already asking never waits, since others may wait for it.
        """
        self._check_call(call, spent + reserved if self._is_asking else spent)
        try:
            self._check_call(call, spent + reserved)
        except BudgetEnded:
            return False
        return True

    def _check_call(self, call: Amount, spent: Amount) -> None:
        for name, before, cost in (
            ("calls", spent.calls, call.calls),
            ("tokens", spent.tokens, call.tokens),
            ("money", spent.money, call.money),
        ):
            limit = getattr(self.budget, name)
            self._check_limit(name, before)
            if limit is not None and before + cost > (available := limit - self._manual_share(name)):
                raise BudgetEnded(
                    f"the budget of {_amount_text(name, limit)} has {_number(name, available - before)} left, and the "
                    f"next call may take {_number(name, cost)}{self._manual_note(name)}",
                    self._larger(name, before + cost),
                )

    def _manual_share(self, name: str) -> float:
        return 0 if self._formulating else self.budget.manual_share(name)

    def _manual_note(self, name: str) -> str:
        """Describe the part reserved for the manual, if there is one."""
        share = self._manual_share(name)
        return f" ({_amount_text(name, share)} kept for the manual)" if share else ""

    def _amount(self, model: str, usage: Usage) -> Amount:
        return Amount(1, usage.total, self._price(model, Reply(text="", usage=usage)) or 0.0)

    def before_action(self) -> None:
        """Allow one action, or raise BudgetEnded."""
        spent = self.spent
        self._check_limit("actions", max(spent.actions, self._actions))
        self._check_limit("seconds", spent.seconds)

    def count(self, kind: EventKind, body: Body) -> None:
        """Count a new event."""
        cost = cost_of(kind, body, self._price)
        if cost is None:
            return
        with self._lock:
            self._own = self._own + cost
        if cost.calls and self.limits_calls:
            self._ledger.settle(journal_place(), amount_of(cost))
        if cost.actions and self.budget.actions is not None:
            self._actions = self._ledger.act(cost.actions)

    @property
    def own(self) -> Spent:
        """The amounts that this process has spent, earlier invocations excluded."""
        with self._lock:
            return self._own

    def recount(self, spent: Spent) -> None:
        """Replace the amounts spent so far, except the time."""
        with self._lock:
            self._before, self._own = spent, Spent()

    def _elapsed(self) -> float:
        return self._seconds + (0.0 if self._begun is None else time.monotonic() - self._begun)

    def _check_limit(self, name: str, amount: float) -> None:
        limit = getattr(self.budget, name)
        if limit is not None and amount >= limit - self._manual_share(name):
            spent = f": {_number(name, amount)} spent" if amount > limit else ""
            message = f"the budget of {_amount_text(name, limit)} is used up{self._manual_note(name)}{spent}"
            raise BudgetEnded(message, self._larger(name, amount, limit or 1))

    def _larger(self, name: str, spent: float, more: float = 0) -> str:
        """Return a larger limit, as an option. It leaves at least half of ``more`` besides the manual's share."""
        share = self.budget.formulator or 0
        return _option(name, max(2 * getattr(self.budget, name), spent + more, (spent + more / 2) / (1 - share)))


def _option(name: str, limit: float) -> str:
    """Return a limit, rounded up, in the form of the option ``--budget``."""
    scale = 10_000 if name == "money" else 1
    return f"{name}={math.ceil(round(limit * scale, 4)) / scale:.12g}"


def _amount_text(name: str, amount: float) -> str:
    """Return an amount in words, such as "1 call", "2,000 tokens" or "$0.06"."""
    number = _number(name, amount)
    return number if name == "money" else f"{number} {name if amount != 1 else name.removesuffix('s')}"


def _number(name: str, amount: float) -> str:
    if name == "money":
        return f"${amount:,.4f}".rstrip("0").rstrip(".")
    return f"{round(amount, 2):,.12g}" if name == "seconds" else f"{amount:,}"


def amount_of(spent: Spent) -> Amount:
    """Return the amount spent on model calls. An unknown price counts as zero."""
    return Amount(spent.calls, spent.tokens, spent.money or 0.0)


def add_cost(spent: Spent, kind: str, body: Any, price: Callable[[str, Reply], float | None]) -> Spent:
    """Return the amount spent after one more event."""
    cost = cost_of(kind, body, price)
    return spent if cost is None else spent + cost


def cost_of(kind: str, body: Any, price: Callable[[str, Reply], float | None]) -> Spent | None:
    """Return the cost of an event; None if events of this kind cost nothing."""
    if kind == "act":
        return Spent(actions=bool(body["counted"]))
    if kind != "ask":
        return None
    reply = Reply.model_validate(body["reply"])
    return Spent(
        calls=1,
        replayed=reply.replayed,
        reworded=reply.reworded,
        shortened=bool(body["left_out"] or body["cut_characters"]),
        stopped=reply.finish == "cut",
        prompt=reply.usage.prompt,
        cached=reply.usage.cached,
        completion=reply.usage.completion,
        estimated=reply.usage.estimated,
        money=price(body["model"], reply),
        waited=reply.seconds,
    )
