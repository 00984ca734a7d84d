"""What a run cost, by who was asked, by model and by prompt."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from planbook.planner import Spent
from planbook.report.charts.chart import Axis, Chart, lying, plain, tall, whole
from planbook.results import RunResults
from planbook.wording import PRICE_UNKNOWN

NOTHING = Spent()


class Row(NamedTuple):
    """``said`` is what there is to say beside the name."""

    name: str
    spent: Spent
    said: str = ""

    @property
    def money(self) -> str:
        """In US dollars."""
        return dollars(self.spent.money)


@dataclass(frozen=True)
class Costs:
    """Rows of three tables, the costliest first, charts of the first one, and what it all comes to."""

    all: Row
    roles: Sequence[Row]
    models: Sequence[Row]
    prompts: Sequence[Row]
    charts: Sequence[Chart]

    def for_each(self, solved: int) -> str:
        """The money for each solved task; nothing where nothing was paid, or nobody knows what."""
        money = self.all.spent.money
        return dollars(money / solved) if money else ""


def costs(run: RunResults) -> Costs:
    """Of all that was asked, inside the episodes and outside."""
    roles = _rows((speaker.role, spent) for speaker, spent in run.speakers.items())
    models = _rows((speaker.model, spent) for speaker, spent in run.speakers.items())
    return Costs(
        all=Row("all", run.cost),
        roles=[row._replace(said=_asked(run, row.name)) for row in roles],
        models=[row._replace(said=_served(run, row.name)) for row in models],
        prompts=_rows(run.prompts.items()),
        charts=[chart for chart in (_chart(drawn, roles) for drawn in DRAWN) if chart is not None],
    )


def dollars(money: float | None) -> str:
    """Small sums with as many digits as it takes to see them."""
    if money is None:
        return PRICE_UNKNOWN
    return f"${money:,.2f}" if money >= 1 or not money else f"${money:.4f}"


def _rows(spent: Iterable[tuple[str, Spent]]) -> list[Row]:
    found: dict[str, Spent] = {}
    for name, cost in spent:
        found[name] = found.get(name, NOTHING) + cost
    return sorted((Row(*each) for each in found.items()), key=lambda row: (-row.spent.tokens, row.name))


def _asked(run: RunResults, role: str) -> str:
    """Which models a role's questions went to, and how they were sampled."""
    return _listed(f"{each.model} ({each.sampling})" for each in run.speakers if each.role == role)


def _served(run: RunResults, model: str) -> str:
    """The names by which servers called a model, where they have others."""
    served = (each.served for each in run.speakers if each.model == model and each.served not in ("", model))
    told = _listed(served)
    return f"served as {told}" if told else ""


def _listed(parts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(parts))


class Part(NamedTuple):
    """Something of a cost that is drawn: a name, its colour, and how much of it there is."""

    name: str
    hue: str
    of: Callable[[Spent], float]


class Drawn(NamedTuple):
    """A chart by role, of parts that add up; ``told`` writes an amount."""

    title: str
    unit: str
    parts: Sequence[Part]
    told: Callable[[float], str]


DRAWN = (
    Drawn("Model calls, by role", "calls", [Part("calls", "--c0", lambda cost: cost.calls)], "{:,.0f}".format),
    Drawn(
        "Tokens, by role",
        "tokens",
        [
            Part("prompt", "--c0", lambda cost: cost.prompt - cost.cached),
            Part("prompt, cached", "--c6", lambda cost: cost.cached),
            Part("completion", "--c1", lambda cost: cost.completion),
        ],
        "{:,.0f}".format,
    ),
    Drawn("Money, by role", "US dollars", [Part("money", "--c2", lambda cost: cost.money or 0.0)], "${:,.4f}".format),
    Drawn("Time that models took, by role", "s", [Part("time", "--c3", lambda cost: cost.waited)], "{:,.1f} s".format),
)


def _chart(drawn: Drawn, roles: Sequence[Row]) -> Chart | None:
    """None where there is nothing to see; the table beside it has the numbers."""
    amounts = {part.name: [part.of(row.spent) for row in roles] for part in drawn.parts}
    parts = [part for part in drawn.parts if any(amounts[part.name])]
    if not parts:
        return None
    names = [row.name for row in roles]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part.name,
            "y": list(range(len(names))),
            "x": amounts[part.name],
            "marker": {"color": part.hue},
            "hovertext": [
                plain(f"{name}: {drawn.told(amount)}" + (f" {part.name}" if len(drawn.parts) > 1 else ""))
                for name, amount in zip(names, amounts[part.name], strict=True)
            ],
            "hoverinfo": "text",
        }
        for part in parts
    ]
    across = Axis(
        drawn.unit, whole(sum(each) for each in zip(*amounts.values(), strict=True)) | SMALL.get(drawn.unit, {})
    )
    return Chart(
        drawn.title,
        traces,
        lying(names, across, legend=len(parts) > 1, barmode="stack"),
        height=tall(len(names)) + 20,
    )


SMALL = {unit: {"tickformat": "", "dtick": None} for unit in ("US dollars", "s")}
"""Axes of what has parts."""
