"""Prices of replies, and the spending of a run, read from its events."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from planbook.errors import BadArgument
from planbook.planner import Budget, Prices, Reply, Spending, add_cost
from planbook.store import Event

Pricing = Callable[[str, Reply], float | None]
FREE = ("scripted", "exchange", "recorded")
"""Kinds of models that cost nothing."""
SECONDS = "seconds"
"""Key of the seconds played so far, in an event that ends an invocation or begins a pause."""
RECORDING = re.compile(r"^(recorded:.+?\+(?=[a-z]+:))+", re.DOTALL)


def prices_from(path: Path | None) -> Pricing:
    """Return a function that prices replies in US dollars, with the table in ``path`` or, if None, the shipped table.

    Raises BadPrices if the table cannot be read.
    """
    table = Prices.load(path)

    def price(model: str, reply: Reply) -> float | None:
        kind, _, name = without_recording(model).partition(":")
        return 0.0 if kind in FREE or reply.replayed else table.cost(name, reply.usage)

    return price


def without_recording(model: str) -> str:
    """Return a model's name without recordings, for example openai:NAME for recorded:FILE+openai:NAME."""
    return RECORDING.sub("", model)


def check_money(models: Iterable[str], budget: Budget | None, path: Path | None) -> None:
    """Raise BadArgument if money is limited but a model has no price, or BadPrices if the table cannot be read."""
    if budget is None or budget.money is None:
        return
    table = Prices.load(path)
    for model in sorted(set(map(without_recording, models))):
        kind, _, name = model.partition(":")
        if kind not in FREE and table.price(name) is None:
            raise BadArgument(
                f"{model} has no price, so --budget money={budget.money:g} cannot be kept; give a price table that "
                "has it (--prices FILE), or limit calls or tokens"
            )


class PlayedTime:
    """The seconds during which a run was played, without pauses.

    The event that ends an invocation of a command records the seconds so far. A process that was killed has no such
    event; its time counts from its first event to its last.
    """

    seconds = 0.0

    def __init__(self) -> None:
        self._last: float | None = None  # None between invocations

    def take(self, event: Event) -> None:
        """Read the next event."""
        body: Any = event.body
        is_boundary = event.kind == "sitting"
        begins = is_boundary and "over" not in body
        if self._last is not None and not begins:
            self.seconds += max(0.0, event.at - self._last)
        if is_boundary:
            self.seconds = body.get(SECONDS, self.seconds)
        if begins or self._last is not None:
            latest = event.at if begins else max(self._last or 0.0, event.at)  # times of threads and machines overlap
            self._last = None if is_boundary and not begins else latest


def spent_so_far(events: Iterable[Event], price: Pricing) -> Spending:
    """Return the spending that the events record, and the time during which the run was played."""
    spent, played = Spending(), PlayedTime()
    for event in events:
        played.take(event)
        spent = add_cost(spent, event.kind, event.body, price)
    return spent.model_copy(update={"seconds": played.seconds})
