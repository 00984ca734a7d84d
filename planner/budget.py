"""One budget for a whole run, across all roles: what has been spent follows from the events that were recorded."""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import Field

from planner.errors import BudgetEnded
from planner.journal import Body, EventKind
from planner.models.types import Reply
from planner.types import Record


class Budget(Record):
    """What a run may spend; None is without limit. ``money`` is in US dollars."""

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0)
    actions: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)


class Spent(Record):
    """What was spent, of a run or of any part of it; two can be added.

    ``prompt``, ``cached`` (among the prompt's) and ``completion`` are tokens; ``estimated`` says that some are not the
    server's own count. ``money`` is None where a price is unknown. Replies out of a recording are counted with their
    tokens, and cost nothing; ``replayed`` is how many they were.
    """

    calls: int = 0
    replayed: int = 0
    reworded: int = 0
    """Replies out of a recording whose prompt has the same data in other words."""
    shortened: int = 0
    """Calls whose prompt was cut to fit the context."""
    stopped: int = 0
    """Calls whose reply was stopped before its end: what streamed of it had come to an end by then."""
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    estimated: bool = False
    money: float | None = 0.0
    actions: int = 0
    waited: float = 0.0
    """Seconds that models took to answer, one call after the other."""
    seconds: float = 0.0
    """On the clock, while the run was played."""

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            calls=self.calls + other.calls,
            replayed=self.replayed + other.replayed,
            reworded=self.reworded + other.reworded,
            shortened=self.shortened + other.shortened,
            stopped=self.stopped + other.stopped,
            prompt=self.prompt + other.prompt,
            cached=self.cached + other.cached,
            completion=self.completion + other.completion,
            estimated=self.estimated or other.estimated,
            money=None if self.money is None or other.money is None else self.money + other.money,
            actions=self.actions + other.actions,
            waited=self.waited + other.waited,
            seconds=self.seconds + other.seconds,
        )


class News(NamedTuple):
    """What one process of a run tells the others: what it has spent since it last told, and the calls it waits for."""

    spent: Spent = Spent()
    calls_under_way: int = 0


class Meter:
    """Counts what a run spends, over all its threads, and says when that is enough.

    ``price`` gives the dollars of a reply, or None where the model's price is unknown. ``spent`` is what earlier
    sittings spent. Calls never exceed the budget. Tokens and money may, by what the last calls cost, and actions by
    those that episodes side by side take at the same moment. Where several processes play a run, each has a meter and
    they settle now and then: then all of these may exceed it, by what the others do between two settlings.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        spent: Spent | None = None,
        price: Callable[[str, Reply], float | None] = lambda model, reply: 0.0,
    ) -> None:
        self.budget, self._price = budget or Budget(), price
        self._before, self._own = spent or Spent(), Spent()
        self._lock, self._seconds = threading.Lock(), self._before.seconds
        self._begun: float | None = time.monotonic()
        self._calls_under_way = self._calls_elsewhere = 0

    @property
    def spent(self) -> Spent:
        """Everything spent so far, by earlier sittings too."""
        with self._lock:
            return self._all()

    def stop_clock(self) -> None:
        """Let no seconds pass from now on: the run is paused."""
        with self._lock:
            self._seconds, self._begun = self._passed(), None

    def start_clock(self) -> None:
        """Let seconds pass again."""
        with self._lock:
            self._seconds, self._begun = self._passed(), time.monotonic()

    def before_call(self) -> None:
        """Let a model be asked, or raise BudgetEnded."""
        with self._lock:
            spent = self._all()
            self._unless_spent("calls", spent.calls + self._calls_under_way + self._calls_elsewhere)
            self._unless_spent("tokens", spent.tokens)
            self._unless_spent("money", spent.money or 0.0)
            self._unless_spent("seconds", spent.seconds)
            self._calls_under_way += 1

    def before_action(self) -> None:
        """Let an action be taken, or raise BudgetEnded."""
        spent = self.spent
        self._unless_spent("actions", spent.actions)
        self._unless_spent("seconds", spent.seconds)

    def saw(self, kind: EventKind, body: Body) -> None:
        """Count a new event."""
        if kind in ("ask", "act"):
            with self._lock:
                self._calls_under_way -= kind == "ask"
                self._own = add(self._own, kind, body, self._price)

    def settle(self, total: Spent, calls_elsewhere: int) -> News:
        """Learn what all processes had spent when they last told, this one included; what is new here is told."""
        with self._lock:
            new, self._own = self._own, Spent()
            self._before, self._calls_elsewhere = plus(total, new), calls_elsewhere
            return News(new, self._calls_under_way)

    def take(self, spent: Spent) -> None:
        """Count what another process has spent."""
        with self._lock:
            self._own = plus(self._own, spent)

    def recount(self, spent: Spent) -> None:
        """Take this for everything spent so far, but for the time."""
        with self._lock:
            self._before, self._own = spent, Spent()

    def _all(self) -> Spent:
        return plus(self._before, self._own).model_copy(update={"seconds": self._passed()})

    def _passed(self) -> float:
        return self._seconds + (0.0 if self._begun is None else time.monotonic() - self._begun)

    def _unless_spent(self, name: str, amount: float) -> None:
        limit = getattr(self.budget, name)
        if limit is not None and amount >= limit:
            raise BudgetEnded(f"the budget of {limit:,} {name} is used up")


def plus(one: Spent, other: Spent) -> Spent:
    """Both together; time is not added up, it passes for both at once."""
    return (one + other).model_copy(update={"seconds": one.seconds})


def add(spent: Spent, kind: str, body: Any, price: Callable[[str, Reply], float | None]) -> Spent:
    """What has been spent after one more event."""
    cost = cost_of(kind, body, price)
    return spent if cost is None else spent + cost


def cost_of(kind: str, body: Any, price: Callable[[str, Reply], float | None]) -> Spent | None:
    """What one event cost; None for one of a kind that costs nothing."""
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
