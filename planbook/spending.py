"""Compute the prices of model replies, and the spending of a run from its events."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from planbook.errors import BadArgument
from planbook.planner import INVOCATION, Budget, Prices, Reply, Spending, add_cost
from planbook.store import Event

Pricing = Callable[[str, Reply], float | None]
"""Returns the price of a model's reply in US dollars, or None if it is unknown."""
FREE_KINDS = ("scripted", "exchange")
"""Kinds of models whose replies cost nothing, unless the price table names the model."""
SECONDS = "seconds"
"""Key in an event that ends an invocation or begins a pause. Its value is the number of seconds played so far."""
RECORDING = re.compile(r"^(recorded:.+?\+(?=[a-z]+:))+", re.DOTALL)
"""Matches the recordings at the beginning of a model's name, as in ``recorded:FILE+openai:NAME``."""


def load_pricing(path: Path | None) -> Pricing:
    """Return the function that prices replies with the price table in a file, by default the shipped table.

    Raises BadPrices if the table cannot be read.
    """
    table = Prices.load(path)

    def price(model: str, reply: Reply) -> float | None:
        kind, name = _kind_and_name(model)
        if kind == "recorded" or reply.replayed:
            return 0.0
        cost = table.cost(name, reply.usage)
        return 0.0 if cost is None and kind in FREE_KINDS else cost

    return price


def _kind_and_name(model: str) -> tuple[str, str]:
    """Return a model's kind and its name in price tables, without the folders of a script's path."""
    kind, _, name = without_recording(model).partition(":")
    return kind, name.rpartition("/")[2] if kind in FREE_KINDS else name


def without_recording(model: str) -> str:
    """Return a model's name without recordings, for example openai:NAME for recorded:FILE+openai:NAME."""
    return RECORDING.sub("", model)


def check_money(models: Iterable[str], budget: Budget | None, path: Path | None) -> None:
    """Raise BadArgument if the budget limits money, but the price table lacks a model.

    Raises BadPrices if the table cannot be read.
    """
    if budget is None or budget.money is None:
        return
    table = Prices.load(path)
    for model in sorted(set(map(without_recording, models))):
        kind, name = _kind_and_name(model)
        if kind != "recorded" and table.price(name) is None:
            raise BadArgument(
                f"{model} has no price, so --budget money={budget.money:g} cannot be checked; give a price table that "
                "contains the model (--prices FILE), or limit calls or tokens"
            )


class PlayedTime:
    """The seconds during which a run was played, without pauses.

    The event that ends an invocation records the seconds so far. A process that was killed leaves no such event,
    so the time from its first event to its last is counted instead.
    """

    seconds = 0.0

    def __init__(self) -> None:
        self._last: float | None = None  # None between invocations

    def take(self, event: Event) -> None:
        """Count the time up to ``event``. Events must be given in order."""
        body: Any = event.body
        is_boundary = event.kind == INVOCATION  # an invocation or a pause begins or ends
        is_beginning = is_boundary and "over" not in body
        if self._last is not None and not is_beginning:
            self.seconds += max(0.0, event.at - self._last)
        if is_boundary:
            self.seconds = body.get(SECONDS, self.seconds)
        if is_beginning or self._last is not None:
            # events of several threads or machines may be out of order
            latest = event.at if is_beginning else max(self._last or 0.0, event.at)
            self._last = None if is_boundary and not is_beginning else latest


def spent_so_far(events: Iterable[Event], price: Pricing) -> Spending:
    """Return the spending that these events record, including the seconds during which the run was played."""
    spent, played = Spending(), PlayedTime()
    for event in events:
        played.take(event)
        spent = add_cost(spent, event.kind, event.body, price)
    return spent.model_copy(update={"seconds": played.seconds})
