"""A chart of the page: what the drawing library is told, and the same numbers for readers without it.

A text that begins with ``--`` in a drawing is the name of one of the page's colours, so that a chart follows when the
page turns dark. Texts of models and worlds are made plain here: the library would take tags in them for its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from planbook.wording import harmless

COLOURS = tuple(f"--c{number}" for number in range(8))
GRID, SOFT = "--rule", "--soft"
HEIGHT, BAR, AROUND = 260, 26, 84
"""Of a chart, of one bar lying down, and of what stands above and below all bars, in pixels."""
CLOSE, BAR_WIDTH = 0.6, 0.56
"""How far apart bars of one name lie, and how thick each is, where bars of different names lie 1 apart."""
LONGEST_NAME = 26
"""Characters of a name beside an axis; the whole name is told when a pointer is on its bar."""
APART: dict[str, Any] = {"ticklabelstandoff": 8}
"""Of names beside bars, in pixels."""
PERCENT: dict[str, Any] = {"range": [-0.02, 1.02], "tickformat": ".0%"}


def whole(values: Iterable[float]) -> dict[str, Any]:
    """What an axis of counts has more than others: it begins at nothing, and no half things stand beside it."""
    most = max(values, default=0)
    told = {"rangemode": "tozero", "tickformat": ",.0f" if most < 10_000 else ".3~s"}
    return {**told, "dtick": 1} if most < 6 else told


@dataclass(frozen=True)
class Chart:
    """``traces`` and ``layout`` are the drawing library's; ``head`` and ``rows`` say its numbers as a table.

    There are no rows where a table of the page has the numbers already. ``last`` is what the caption ends with.
    """

    title: str
    traces: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    last: str = ""
    height: int = HEIGHT
    broad: bool = False
    """Whether it takes the whole width of the page."""

    @property
    def drawing(self) -> dict[str, Any]:
        """What the page's script hands to the library."""
        return {"data": list(self.traces), "layout": {**self.layout, "height": self.height}}


@dataclass(frozen=True)
class Axis:
    """What is counted along an axis; ``more`` is the library's."""

    title: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def drawn(self) -> dict[str, Any]:
        """As the library takes it."""
        fixed = {"gridcolor": GRID, "zerolinecolor": GRID, "automargin": True, "fixedrange": True}
        return {**fixed, "title": {"text": plain(self.title), "font": {"size": 12}}, **self.more}


def layout(across: Axis, up: Axis, *, legend: bool, **more: Any) -> dict[str, Any]:
    """What all charts have in common. The legend stands below, where there is more than one thing to tell apart."""
    return {
        "xaxis": across.drawn,
        "yaxis": up.drawn,
        "showlegend": legend,
        "legend": {
            "orientation": "h",
            "traceorder": "normal",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
        },
        "margin": {"l": 8, "r": 12, "t": 10, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": SOFT, "size": 12},
        "hoverlabel": {"bgcolor": "--panel", "bordercolor": GRID, "font": {"color": "--ink"}, "align": "left"},
        "dragmode": False,
        **more,
    }


def lying(
    names: Sequence[str],
    counted: Axis,
    *,
    legend: bool,
    at: Sequence[float] | None = None,
    end: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The layout of bars that lie beside their names, the first at the top; bar n is drawn at height n.

    Where a name has several bars, the names stand ``at`` other heights, up to ``end``, see ``stacked``.
    """
    heights, lowest = list(range(len(names)) if at is None else at), len(names) if end is None else end
    ticks = {"tickvals": heights, "ticktext": [short_name(name) for name in names]}
    up = Axis(more={**ticks, "range": [lowest - 0.5, -0.5], "showgrid": False, "zeroline": False, **APART})
    return layout(counted, up, legend=legend, bargap=0.3, **more)


def stacked(groups: Sequence[Sequence[int]]) -> tuple[list[dict[int, float]], list[float], float]:
    """Where bars lie that belong to names: for each name by the numbers of its bars; where names stand; where it ends.

    A name's first bar is one below the last of the name before, and further ones lie closer together.
    """
    heights, middles, top = list[dict[int, float]](), list[float](), 0.0
    for group in groups:
        heights.append({number: top + CLOSE * place for place, number in enumerate(group)})
        middles.append(top + CLOSE * (len(group) - 1) / 2)
        top += 1 + CLOSE * (len(group) - 1)
    return heights, middles, top


def tall(names: int, further: int = 0) -> int:
    """The height of a chart with so many names, each with a bar, and so many further bars beside these."""
    return AROUND + round((names + CLOSE * further) * BAR)


def colour(number: int) -> str:
    """The colour of a run, or of whatever else is told apart by its number."""
    return COLOURS[number % len(COLOURS)]


def plain(text: str) -> str:
    """A text in which the drawing library finds no tags, and in which everything can be seen."""
    return escape(harmless(text), quote=False).replace("\n", " ")


def short_name(name: str) -> str:
    """A name beside an axis."""
    return plain(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…")
