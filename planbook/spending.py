"""Prices of replies, and the spending of a run, read from its events."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from planbook.errors import BadArgument
from planbook.planner import Budget, Prices, Reply, Spent, add_cost
from planbook.store import Event

Price = Callable[[str, Reply], float | None]
FREE = ("scripted", "exchange", "recorded")
"""Kinds of models that cost nothing."""
RECORDING = re.compile(r"^(recorded:.+?\+(?=[a-z]+:))+", re.DOTALL)


def prices_from(path: Path | None) -> Price:
    """Return a function that prices replies in US dollars, by this table or the shipped one. Raises BadPrices."""
    table = Prices.load(path)

    def price(model: str, reply: Reply) -> float | None:
        kind, _, name = without_recording(model).partition(":")
        return 0.0 if kind in FREE or reply.replayed else table.cost(name, reply.usage)

    return price


def without_recording(model: str) -> str:
    """Return the model that answers what is not recorded: openai:NAME for recorded:FILE+openai:NAME."""
    return RECORDING.sub("", model, count=1)


def check_money(models: Iterable[str], budget: Budget | None, path: Path | None) -> None:
    """Raise BadArgument if money is limited and a model has no price, BadPrices if the table cannot be read."""
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
    """The time during which a run was played: from the first to the last event of each invocation, without pauses."""

    seconds = 0.0

    def __init__(self) -> None:
        self._last: float | None = None  # None between invocations

    def take(self, event: Event) -> None:
        """Read the next event."""
        is_bound = event.kind == "sitting"
        if is_bound and "over" not in event.body:
            self._last = event.at
        elif self._last is not None:
            self.seconds += event.at - self._last
            self._last = None if is_bound else event.at


def spent_so_far(events: Iterable[Event], price: Price) -> Spent:
    """Return the spending of events, and the time during which they were recorded."""
    spent, played = Spent(), PlayedTime()
    for event in events:
        played.take(event)
        spent = add_cost(spent, event.kind, event.body, price)
    return spent.model_copy(update={"seconds": played.seconds})
