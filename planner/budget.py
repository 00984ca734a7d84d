"""The budget of a whole run, across all roles. What has been spent follows from the recorded events.

A ledger counts what a run has spent on model calls, and what it has reserved for those under way.
"""

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
    """What model calls cost, or may cost at most. ``money`` is in US dollars."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)


Allows = Callable[[Amount, Amount], bool]
"""Takes what is spent and what other calls have reserved; returns whether one more call may begin now."""


class Ledger(Protocol):
    """The account of a run. Threads may use it side by side, and processes too where it is in the run's store."""

    def reserve(self, call: str, most: Amount, allows: Allows) -> bool:
        """Reserve an amount for a call, in one atomic step, if ``allows`` returns True. Returns what that returns."""

    def settle(self, call: str, spent: Amount) -> None:
        """Count what a call has cost, in the place of what was reserved for it."""

    def release(self, call: str) -> None:
        """Give back what is still reserved for a call."""

    def act(self, number: int) -> int:
        """Count actions. Returns the actions of all who use the account so far."""


class OwnLedger:
    """The ledger of a run that one process plays."""

    def __init__(self, spent: Amount) -> None:
        self._spent, self._reserved = spent, dict[str, Amount]()
        self._lock, self._actions = threading.Lock(), 0

    def reserve(self, call: str, most: Amount, allows: Allows) -> bool:
        """Reserve an amount for a call if ``allows`` returns True. Returns what that returns."""
        with self._lock:
            others = (amount for other, amount in self._reserved.items() if other != call)
            if allowed := allows(self._spent, sum(others, Amount())):
                self._reserved[call] = most
            return allowed

    def settle(self, call: str, spent: Amount) -> None:
        """Count what a call has cost, in the place of what was reserved for it."""
        with self._lock:
            self._reserved.pop(call, None)
            self._spent += spent

    def release(self, call: str) -> None:
        """Give back what is still reserved for a call."""
        with self._lock:
            self._reserved.pop(call, None)

    def act(self, number: int) -> int:
        """Count actions. Returns the actions so far."""
        with self._lock:
            self._actions += number
            return self._actions


class Budget(Record):
    """Limits of a run; None means no limit. ``money`` is in US dollars."""

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0)
    actions: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
    formulator: float | None = Field(default=None, ge=0, lt=1, exclude_if=lambda share: share is None)
    """Share of all limits but the actions that is reserved for writing the manual of a build."""

    def kept(self, name: str) -> float:
        """Return the part of a limit that is reserved for the manual; whole numbers for calls and tokens."""
        limit = getattr(self, name)
        if not self.formulator or limit is None or name == "actions":
            return 0
        kept: float = limit * self.formulator
        return kept if name in ("money", "seconds") else int(kept)


class Spent(Record):
    """What was spent, of a run or of any part of it; two can be added.

    ``prompt``, ``cached`` (among the prompt's) and ``completion`` are tokens; ``estimated`` says that some are not the
    server's own count. ``money`` is None where a price is unknown. Replies out of a recording are counted with their
    tokens, and cost nothing; ``replayed`` is how many they were.
    """

    calls: int = 0
    replayed: int = 0
    reworded: int = 0
    """Number of recorded replies whose prompt has the same data in other words."""
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
        summed = {name: getattr(self, name) + getattr(other, name) for name in Spent.model_fields if name not in _ODD}
        money = None if self.money is None or other.money is None else self.money + other.money
        return Spent(**summed, estimated=self.estimated or other.estimated, money=money)


_ODD = ("estimated", "money")


class Meter:
    """Counts what a run spends, over all its threads, and says when that is enough.

    ``price`` gives the dollars of a reply, or None where the model's price is unknown. ``spent`` is what earlier
    sittings spent. Before a call, the most that it may cost is reserved in the ``ledger``, which all processes of a run
    share; so calls, tokens and money stay within the budget. Actions are counted there too, where they are limited;
    they may exceed the budget by those that episodes side by side take at the same moment.
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
        self._ledger = ledger or OwnLedger(amount_of(self._before))
        self._thread = threading.local()
        self._formulating = False
        self._actions = 0
        """Actions of all processes, as the ledger last said."""

    @property
    def spent(self) -> Spent:
        """Everything spent so far, earlier invocations included."""
        with self._lock:
            return self._all()

    def stop_clock(self) -> None:
        """Stop counting seconds: the run is paused."""
        with self._lock:
            self._seconds, self._begun = self._passed(), None

    def start_clock(self) -> None:
        """Count seconds again."""
        with self._lock:
            self._seconds, self._begun = self._passed(), time.monotonic()

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
        self._unless_spent("seconds", self.spent.seconds)

    @contextmanager
    def call(self, model: str, most: Usage, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Reserve the most that a call may cost, until its reply is recorded or it fails. Raises BudgetEnded.

        If only other calls under way leave too little, ``wait`` is called until they have ended.
        """
        self.check_time()
        if not self.limits_calls:
            yield
            return
        key, amount = journal_place(), self._amount(model, most)
        while not self._ledger.reserve(key, amount, lambda spent, reserved: self._allows(amount, spent, reserved)):
            wait()
            self.check_time()
        outer, self._thread.asks = self._asks, True
        try:
            yield
        finally:
            self._thread.asks = outer
            self._ledger.release(key)

    @property
    def limits_calls(self) -> bool:
        """Return whether the budget limits the cost of model calls."""
        return any(limit is not None for limit in (self.budget.calls, self.budget.tokens, self.budget.money))

    @property
    def _asks(self) -> bool:
        """Return whether this thread is already asking a model: a streaming plan may ask another."""
        return getattr(self._thread, "asks", False)

    def _allows(self, call: Amount, spent: Amount, reserved: Amount) -> bool:
        """Return whether a call may begin now.

        A thread that is already asking never waits, since others may wait for it.
        """
        self._unless_over(call, spent + reserved if self._asks else spent)
        try:
            self._unless_over(call, spent + reserved)
        except BudgetEnded:
            return False
        return True

    def _unless_over(self, call: Amount, spent: Amount) -> None:
        for name, before, cost in (
            ("calls", spent.calls, call.calls),
            ("tokens", spent.tokens, call.tokens),
            ("money", spent.money, call.money),
        ):
            limit = getattr(self.budget, name)
            self._unless_spent(name, before)
            if limit is not None and before + cost > (open_to := limit - self._kept(name)):
                raise BudgetEnded(
                    f"the budget of {_told(name, limit)} has {_number(name, open_to - before)} left, and the next call "
                    f"may take {_number(name, cost)}{self._beside(name)}",
                    _larger(name, max(2 * limit, before + cost)),
                )

    def _kept(self, name: str) -> float:
        return 0 if self._formulating else self.budget.kept(name)

    def _beside(self, name: str) -> str:
        """Describe the reserved part, if there is one."""
        kept = self._kept(name)
        return f" ({_told(name, kept)} kept for the manual)" if kept else ""

    def _amount(self, model: str, usage: Usage) -> Amount:
        return Amount(1, usage.total, self._price(model, Reply(text="", usage=usage)) or 0.0)

    def before_action(self) -> None:
        """Allow one action, or raise BudgetEnded."""
        spent = self.spent
        self._unless_spent("actions", max(spent.actions, self._actions))
        self._unless_spent("seconds", spent.seconds)

    def saw(self, kind: EventKind, body: Body) -> None:
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
        """Everything that this process has spent, without what was spent before."""
        with self._lock:
            return self._own

    def recount(self, spent: Spent) -> None:
        """Replace everything spent so far, except the time."""
        with self._lock:
            self._before, self._own = spent, Spent()

    def _all(self) -> Spent:
        return (self._before + self._own).model_copy(update={"seconds": self._passed()})

    def _passed(self) -> float:
        return self._seconds + (0.0 if self._begun is None else time.monotonic() - self._begun)

    def _unless_spent(self, name: str, amount: float) -> None:
        limit = getattr(self.budget, name)
        if limit is not None and amount >= limit - self._kept(name):
            message = f"the budget of {_told(name, limit)} is used up{self._beside(name)}"
            raise BudgetEnded(message, _larger(name, 2 * limit or 1))


def _larger(name: str, limit: float) -> str:
    """Return a limit as an option gives it."""
    return f"{name}={limit:g}" if name in ("money", "seconds") else f"{name}={limit}"


def _told(name: str, amount: float) -> str:
    """Return an amount in words, such as "1 call", "2,000 tokens" or "$0.06"."""
    number = _number(name, amount)
    return number if name == "money" else f"{number} {name if amount != 1 else name.removesuffix('s')}"


def _number(name: str, amount: float) -> str:
    if name == "money":
        return f"${amount:,.4f}".rstrip("0").rstrip(".")
    return f"{amount:,g}" if name == "seconds" else f"{amount:,}"


def amount_of(spent: Spent) -> Amount:
    """Return the amount spent on model calls. An unknown price counts as nothing."""
    return Amount(spent.calls, spent.tokens, spent.money or 0.0)


def add_cost(spent: Spent, kind: str, body: Any, price: Callable[[str, Reply], float | None]) -> Spent:
    """Return the amount spent after one more event."""
    cost = cost_of(kind, body, price)
    return spent if cost is None else spent + cost


def cost_of(kind: str, body: Any, price: Callable[[str, Reply], float | None]) -> Spent | None:
    """Return the cost of an event; None if events of its kind cost nothing."""
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
