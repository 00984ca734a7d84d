"""What a run has spent, read from its events, and what a reply costs."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from planbook.errors import BadArgument
from planbook.planner import Budget, Spent
from planbook.planner.budget import add
from planbook.planner.models import Prices, Reply
from planbook.store import Event

Price = Callable[[str, Reply], float | None]
FREE = ("scripted", "exchange", "recorded")
"""Models that nobody is paid for."""
RECORDING = re.compile(r"^(recorded:.+?\+(?=[a-z]+:))+", re.DOTALL)


def prices_from(path: Path | None) -> Price:
    """What a reply of a model costs in US dollars, by the shipped price table or the user's. Raises ModelError."""
    table = Prices.load(path)

    def price(model: str, reply: Reply) -> float | None:
        kind, _, name = paid(model).partition(":")
        return 0.0 if kind in FREE or reply.replayed else table.cost(name, reply.usage)

    return price


def paid(model: str) -> str:
    """The whole name of the model that is paid: where a recording asks another for what is missing, that one."""
    return RECORDING.sub("", model, count=1)


def check_money(models: Iterable[str], budget: Budget | None, path: Path | None) -> None:
    """See that a budget of money can be kept: every model has a price. Raises BadArgument, BadPrices."""
    if budget is None or budget.money is None:
        return
    table = Prices.load(path)
    for model in sorted(set(map(paid, models))):
        kind, _, name = model.partition(":")
        if kind not in FREE and table.price(name) is None:
            raise BadArgument(
                f"{model} has no price, so that --budget money={budget.money:g} cannot be kept; give a table that has "
                "it with --prices FILE, or limit calls or tokens"
            )


def spent_so_far(events: Iterable[Event], price: Price) -> Spent:
    """Everything that the events say was spent; time passes from the first to the last event of each sitting."""
    spent, seconds, last = Spent(), 0.0, 0.0
    begun: float | None = None  # the tasks are listed before anybody sits down
    for event in events:
        if event.kind == "sitting":
            over = "over" in event.body
            seconds += (event.at if over else last) - begun if begun is not None else 0.0
            begun = None if over else event.at
        last = event.at
        spent = add(spent, event.kind, event.body, price)
    return spent.model_copy(update={"seconds": seconds + (last - begun if begun is not None else 0.0)})
