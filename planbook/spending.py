"""Prices of replies, and the spending of a run, read from its events."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from planbook.errors import BadArgument
from planbook.planner import Budget, Prices, Reply, Spent, add_cost
from planbook.store import Event

Price = Callable[[str, Reply], float | None]
FREE = ("scripted", "exchange", "recorded")
"""Kinds of models that cost nothing."""
SECONDS = "seconds"
"""Key of the seconds played so far, in the event that ends an invocation or begins a pause."""
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


def spent_so_far(events: Iterable[Event], price: Price) -> Spent:
    """Return the spending of events.

    The event that ends an invocation has the seconds played so far; a killed process recorded none, and its time counts
    from its first event to its last.
    """
    spent, seconds, last = Spent(), 0.0, 0.0
    body: Any
    begun: float | None = None  # tasks are recorded before the first invocation
    for event in events:
        if event.kind == "sitting":
            body, over = event.body, "over" in event.body
            if begun is not None:
                seconds += max(0.0, (event.at if over else last) - begun)  # the clock may have been set back
            seconds, begun = body.get(SECONDS, seconds), None if over else event.at
        last = event.at
        spent = add_cost(spent, event.kind, event.body, price)
    return spent.model_copy(update={"seconds": seconds + (max(0.0, last - begun) if begun is not None else 0.0)})
