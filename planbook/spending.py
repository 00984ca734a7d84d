"""What a run has spent, read from its events, and what a reply costs."""

from collections.abc import Callable, Iterable
from pathlib import Path

from planbook.store import Event
from planner import Spent
from planner.budget import add
from planner.models import Prices, Reply

Price = Callable[[str, Reply], float | None]
FREE = ("scripted", "exchange", "recorded")
"""Models that nobody is paid for."""


def prices_from(path: Path | None) -> Price:
    """What a reply of a model costs in US dollars, by the shipped price table or the user's. Raises ModelError."""
    table = Prices.load(path)

    def price(model: str, reply: Reply) -> float | None:
        kind, _, name = model.partition(":")
        if kind in FREE or reply.replayed:
            return 0.0
        return table.cost(name, reply.usage)

    return price


def spent_so_far(events: Iterable[Event], price: Price) -> Spent:
    """Everything that the events say was spent; time passes from the first to the last event of each sitting."""
    spent, seconds, last = Spent(), 0.0, 0.0
    begun: float | None = None  # the tasks are listed before anybody sits down
    for event in events:
        if event.kind == "sitting":
            seconds += last - begun if begun is not None else 0.0
            begun = event.at
        last = event.at
        spent = add(spent, event.kind, event.body, price)
    return spent.model_copy(update={"seconds": seconds + (last - begun if begun is not None else 0.0)})
