"""Benchmarks of planbook's speed and skill against installed peers: ``planbook bench PART``, in a clone.

All figures of a part are measured in one run.
"""

import dataclasses
import importlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from planbook.console import ERRORS, console
from planbook.errors import OK

BENCHES: Mapping[str, tuple[str, ...]] = {
    "envs": ("tools.bench.alfworld", "tools.bench.miniwob", "tools.bench.environments", "tools.bench.replay"),
    "prompts": ("tools.bench.prompts",),
    "report": ("tools.bench.report",),
    "sandbox": ("tools.bench.sandbox",),
    "scale": ("tools.bench.scale",),
    "selector": ("tools.bench.selector",),
    "start": ("tools.bench.start",),
    "stream": ("tools.bench.stream",),
    "tools": ("tools.bench.tool_calls",),
}
"""The modules of each part; each module has a function ``rows() -> list[Row]``."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure. ``ratio`` compares it with the peer or limit named in ``against``.

    ``value`` is None if there is nothing to measure; then ``name`` says why.
    """

    name: str
    value: float | None
    unit: str
    ratio: float | None = None
    against: str = ""
    goal: str = ""
    met: bool | None = None
    interval: tuple[float, float] | None = None
    """The 95% confidence interval of the value, in its unit."""
    cell: tuple[str, str] | None = None
    """Line and column of the figure, if it is shown in a two-dimensional table."""


def show(part: str) -> tuple[int, dict[str, Any]]:
    """Measure a part and print its figures; a missed goal is shown, but is not an error."""
    out = console()
    rows: list[Row] = []
    for module in BENCHES[part]:
        ERRORS.print(f"measuring {module.rpartition('.')[2]} ...")
        rows += importlib.import_module(module).rows()
    title = f"bench {part}: Python {platform.python_version()}, {platform.machine()}"
    out.print(_list_table(title, [row for row in rows if row.cell is None]))
    if any(row.cell for row in rows):
        out.print(_cell_table(f"bench {part}: value, 95% interval, and what it is against", rows))
    return OK, {"part": part, "rows": [dataclasses.asdict(row) for row in rows]}


def _list_table(title: str, rows: Sequence[Row]) -> Table:
    """Return a table with one line for each figure."""
    table = Table(title=title, title_justify="left")
    for column in ("what", "measured", "ratio", "against", "goal", ""):
        table.add_column(column, justify="right" if column in ("measured", "ratio") else "left")
    for row in rows:
        ratio = f"{row.ratio:,.2f}" if row.ratio is not None else ""
        table.add_row(row.name, _value(row), ratio, row.against, row.goal, _met(row))
    return table


def _cell_table(title: str, rows: Sequence[Row]) -> Table:
    """Return a table of the figures that have a cell."""
    cells = {row.cell: row for row in rows if row.cell}
    columns = list(dict.fromkeys(column for _, column in cells))
    table = Table("", *columns, title=title, title_justify="left", show_lines=True)
    for line in dict.fromkeys(line for line, _ in cells):
        in_line = [cells.get((line, column)) for column in columns]
        table.add_row(line, *(_cell_text(row) if row else "" for row in in_line))
    return table


def _cell_text(row: Row) -> str:
    interval = "{:,.1f} to {:,.1f}".format(*row.interval) if row.interval else ""
    met = f"{row.goal}: {_met(row)}" if row.goal else ""
    return "\n".join(filter(None, (_value(row), interval, row.against, met)))


def _value(row: Row) -> str:
    return f"{row.value:,.4g} {row.unit}" if row.value is not None else ""


def _met(row: Row) -> str:
    return {True: "met", False: "missed", None: ""}[row.met]
