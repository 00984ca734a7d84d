"""The budget of a run: limits on its calls, tokens, money, actions and seconds.

A meter enforces the budget and counts the run's spending. Before each model call, it reserves the highest possible
cost of the call in a ledger, which all processes of the run share. Every cost can be computed from a recorded event, so
the amount spent can always be recomputed from the journal.
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
from planbook.planner.models.types import Reply, Usage, current_question
from planbook.planner.types import Record


@dataclass(frozen=True)
class Amount:
    """The cost of model calls, or an upper limit on it. ``money`` is in US dollars."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)


AllowsCall = Callable[[Amount, Amount], bool]
"""A function that returns True if a call may begin.

It takes two amounts: the run's spending so far, and the reservations of the calls in progress.
"""


class Ledger(Protocol):
    """Records the spending of a run, and the reservations of its calls in progress.

    All threads of the run share it. If it is in the run's store, all processes of the run share it, too.
    """

    def reserve(self, key: str, amount: Amount, allows: AllowsCall) -> bool:
        """Reserve an amount for the call ``key`` if ``allows`` returns True. Return the value from ``allows``.

        The check and the reservation are one atomic step: no other call can reserve anything between them.
        """

    def settle(self, key: str, spent: Amount) -> None:
        """Replace the reservation of a call with its actual cost."""

    def release(self, key: str) -> None:
        """Remove the reservation of a call, if there is one."""

    def count_actions(self, number: int) -> int:
        """Add ``number`` to the actions of the run. Return how many actions all its processes have taken so far."""


class Budget(Record):
    """The limits of a run. None means that there is no limit. ``money`` is in US dollars."""

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0)
    actions: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
    formulator: float | None = Field(default=None, ge=0, lt=1, exclude_if=lambda share: share is None)
    """Share of each limit that is reserved for the Formulator, the last stage of ``planbook build``.

    The Formulator writes the manual. It takes no actions, so no share of the limit on actions is reserved.
    """

    def manual_share(self, name: str) -> float:
        """Return the part of a limit that is reserved for the manual. Calls and tokens are rounded down."""
        limit = getattr(self, name)
        if not self.formulator or limit is None or name == "actions":
            return 0
        share: float = limit * self.formulator
        return share if name in ("money", "seconds") else int(share)


class Spending(Record):
    """The spending of a run, or of a part of it. ``+`` adds two spendings.

    ``prompt``, ``cached`` and ``completion`` are numbers of tokens; ``cached`` tokens are included in ``prompt``.
    ``estimated`` is True if some token counts are estimates. ``money`` is None if a price is unknown.
    ``replayed`` is the number of replies that came from a recording: their tokens are counted, but they cost nothing.
    """

    calls: int = 0
    replayed: int = 0
    reworded: int = 0
    """Number of recorded replies that were used for prompts with the same data in different words."""
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
    """The seconds that the calls took. Calls that overlap are each counted in full."""
    seconds: float = 0.0
    """Wall-clock seconds during which the run was active."""

    @property
    def tokens(self) -> int:
        """Number of prompt and completion tokens."""
        return self.prompt + self.completion

    def __add__(self, other: "Spending") -> "Spending":
        summable = Spending.model_fields.keys() - {"estimated", "money"}
        sums = {name: getattr(self, name) + getattr(other, name) for name in summable}
        money = None if self.money is None or other.money is None else self.money + other.money
        return Spending(**sums, estimated=self.estimated or other.estimated, money=money)


class Meter:
    """Counts the spending of all threads of a run, and enforces the budget.

    ``price`` takes the name of a model and its reply. It returns the cost in dollars, or None if the model's price is
    unknown. ``spent`` is the spending of a resumed run's earlier invocations. The ``ledger`` is required if the budget
    limits calls, tokens, money or actions.

    Calls, tokens and money never exceed the budget, because the highest possible cost of each call is reserved before
    the call. Actions are counted only after they are taken, so several episodes that act at the same time may exceed
    the limit on actions slightly.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        spent: Spending | None = None,
        price: Callable[[str, Reply], float | None] = lambda model, reply: 0.0,
        ledger: Ledger | None = None,
    ) -> None:
        self.budget, self._price = budget or Budget(), price
        self._spent_earlier, self._spent_here = spent or Spending(), Spending()
        self._lock, self._seconds = threading.Lock(), self._spent_earlier.seconds
        self._started_at: float | None = time.monotonic()
        self._shared_ledger = ledger
        self._thread_state = threading.local()
        self._formulating = False
        self._reported_actions = 0
        """Number of actions of all processes, as the ledger last reported it."""

    @property
    def spent(self) -> Spending:
        """The spending of the run so far, including earlier invocations."""
        with self._lock:
            return (self._spent_earlier + self._spent_here).model_copy(update={"seconds": self._elapsed()})

    def stop_clock(self) -> None:
        """Stop counting seconds while the run is paused."""
        with self._lock:
            self._seconds, self._started_at = self._elapsed(), None

    def start_clock(self) -> None:
        """Resume counting seconds."""
        with self._lock:
            self._seconds, self._started_at = self._elapsed(), time.monotonic()

    @contextmanager
    def formulating(self) -> Iterator[None]:
        """Allow the run to spend the manual's share of the budget inside the ``with`` block."""
        self._formulating = True
        try:
            yield
        finally:
            self._formulating = False

    def check_time(self) -> None:
        """Raise BudgetEnded if the run has used up its seconds."""
        with self._lock:
            seconds = self._elapsed()
        self._check_limit("seconds", seconds)

    @contextmanager
    def reserve(self, model: str, max_usage: Usage, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Reserve the highest possible cost of a call until its reply is recorded or the call fails.

        If the budget would suffice without the reservations of other calls, ``wait`` is called repeatedly until it
        suffices. Raises BudgetEnded if it does not suffice even without them.
        """
        self.check_time()
        if not self._limits_calls:
            yield
            return
        price = self._price(model, Reply(text="", usage=max_usage)) or 0.0
        key, amount = current_question().place, Amount(1, max_usage.total, price)
        while not self._ledger.reserve(key, amount, lambda spent, reserved: self._allows(amount, spent, reserved)):
            wait()
            self.check_time()
        was_asking, self._thread_state.is_asking = self._is_asking, True
        try:
            yield
        finally:
            self._thread_state.is_asking = was_asking
            self._ledger.release(key)

    @property
    def _ledger(self) -> Ledger:
        if self._shared_ledger is None:
            raise ValueError("a meter whose budget limits calls, tokens, money or actions needs a ledger")
        return self._shared_ledger

    @property
    def _limits_calls(self) -> bool:
        """True if the budget limits the cost of model calls."""
        return any(limit is not None for limit in (self.budget.calls, self.budget.tokens, self.budget.money))

    @property
    def _is_asking(self) -> bool:
        """True if this thread is already asking a model.

        While a model's reply arrives, the plan in it may already run, and may ask another model.
        """
        return getattr(self._thread_state, "is_asking", False)

    def _allows(self, call: Amount, spent: Amount, reserved: Amount) -> bool:
        """Return True if a call may begin now, or False if it has to wait. Raises BudgetEnded if it can never begin.

        A thread that is already asking a model raises BudgetEnded instead of waiting, because other threads may be
        waiting for its first call to end.
        """
        self._check_call(call, spent + reserved if self._is_asking else spent)
        try:
            self._check_call(call, spent + reserved)
        except BudgetEnded:
            return False
        return True

    def _check_call(self, call: Amount, spent: Amount) -> None:
        for name in ("calls", "tokens", "money"):
            spent_so_far, cost, limit = getattr(spent, name), getattr(call, name), getattr(self.budget, name)
            self._check_limit(name, spent_so_far)
            if limit is not None and spent_so_far + cost > (available := limit - self._manual_share(name)):
                left = _format_number(name, available - spent_so_far)
                raise BudgetEnded(
                    f"the budget of {_format_amount(name, limit)} has {left} left, "
                    f"and the next call may take {_format_number(name, cost)}{self._manual_note(name)}",
                    self._suggest_limit(name, spent_so_far + cost),
                )

    def _manual_share(self, name: str) -> float:
        return 0 if self._formulating else self.budget.manual_share(name)

    def _manual_note(self, name: str) -> str:
        """Return a note on the part of the limit that is reserved for the manual, or "" if there is none."""
        share = self._manual_share(name)
        return f" ({_format_amount(name, share)} reserved for the manual)" if share else ""

    def before_action(self) -> None:
        """Raise BudgetEnded if the budget allows no further action."""
        with self._lock:
            actions = self._spent_earlier.actions + self._spent_here.actions
        self._check_limit("actions", max(actions, self._reported_actions))
        self.check_time()

    def count(self, kind: EventKind, body: Body) -> None:
        """Count the cost of a new event."""
        cost = cost_of(kind, body, self._price)
        if cost is None:
            return
        with self._lock:
            self._spent_here = self._spent_here + cost
        if cost.calls and self._limits_calls:
            self._ledger.settle(current_question().place, amount_of(cost))
        if cost.actions and self.budget.actions is not None:
            self._reported_actions = self._ledger.count_actions(cost.actions)

    @property
    def spent_here(self) -> Spending:
        """The spending of this process since the meter was made or ``recount`` was last called."""
        with self._lock:
            return self._spent_here

    def recount(self, spent: Spending) -> None:
        """Replace the spending of the run so far with ``spent``. The clock is not changed."""
        with self._lock:
            self._spent_earlier, self._spent_here = spent, Spending()

    def _elapsed(self) -> float:
        return self._seconds + (0.0 if self._started_at is None else time.monotonic() - self._started_at)

    def _check_limit(self, name: str, amount: float) -> None:
        limit = getattr(self.budget, name)
        if limit is not None and amount >= limit - self._manual_share(name):
            spent = f": {_format_number(name, amount)} spent" if amount > limit else ""
            message = f"the budget of {_format_amount(name, limit)} is used up{self._manual_note(name)}{spent}"
            raise BudgetEnded(message, self._suggest_limit(name, amount, limit or 1))

    def _suggest_limit(self, name: str, spent: float, headroom: float = 0) -> str:
        """Return a larger limit with which to continue, such as ``calls=120``.

        ``headroom`` is an amount that the run is likely to spend next. The new limit is at least twice the old one, and
        at least the amount spent plus ``headroom``. Without the manual's share, it is at least the amount spent plus
        half of ``headroom``.
        """
        share = self.budget.formulator or 0
        limits = 2 * getattr(self.budget, name), spent + headroom, (spent + headroom / 2) / (1 - share)
        return _budget_option(name, max(limits))


def _budget_option(name: str, limit: float) -> str:
    """Return a limit, rounded up, as a value of the option ``--budget``, such as ``calls=120``."""
    scale = 10_000 if name == "money" else 1
    return f"{name}={math.ceil(round(limit * scale, 4)) / scale:.12g}"


def _format_amount(name: str, amount: float) -> str:
    """Return an amount with its unit, such as "1 call", "2,000 tokens" or "$0.06"."""
    number = _format_number(name, amount)
    return number if name == "money" else f"{number} {name if amount != 1 else name.removesuffix('s')}"


def _format_number(name: str, amount: float) -> str:
    """Return an amount without its unit, except that money has a dollar sign."""
    if name == "money":
        return f"${amount:,.4f}".rstrip("0").rstrip(".")
    return f"{round(amount, 2):,.12g}" if name == "seconds" else f"{amount:,}"


def amount_of(spent: Spending) -> Amount:
    """Return the cost of the model calls in ``spent``. Money counts as zero if a price is unknown."""
    return Amount(spent.calls, spent.tokens, spent.money or 0.0)


def add_cost(spent: Spending, kind: str, body: Any, price: Callable[[str, Reply], float | None]) -> Spending:
    """Return the spending plus the cost of one more event."""
    cost = cost_of(kind, body, price)
    return spent if cost is None else spent + cost


def cost_of(kind: str, body: Any, price: Callable[[str, Reply], float | None]) -> Spending | None:
    """Return the cost of an event, or None if events of this kind cost nothing."""
    if kind == "act":
        return Spending(actions=bool(body["counted"]))
    if kind != "ask":
        return None
    reply = Reply.model_validate(body["reply"])
    return Spending(
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
