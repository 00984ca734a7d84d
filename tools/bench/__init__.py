"""Benchmarks that compare planbook with other packages: ``planbook bench PART``, in a clone of the repository.

All figures of a part are measured in one run, so that they are comparable. Packages that are not installed are left
out.
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
"""Maps each part to its modules. Each module has a function ``rows() -> list[Row]``, which measures its figures."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure.

    ``ratio`` compares it with the figure of ``against``, such as another package. ``goal`` describes the figure to
    reach, and ``met`` is True if it was reached. If nothing could be measured, ``value`` is None, and ``name`` gives
    the reason.
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
    """The titles of its line and column, if the figure belongs in a two-dimensional table."""


def show(part: str) -> tuple[int, dict[str, Any]]:
    """Measure a part and print its figures. Return the exit status and the figures.

    A missed goal is shown, but is not an error.
    """
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
        table.add_row(row.name, _value(row), ratio, row.against, row.goal, _verdict(row))
    return table


def _cell_table(title: str, rows: Sequence[Row]) -> Table:
    """Return a two-dimensional table of the figures that have a ``cell``."""
    cells = {row.cell: row for row in rows if row.cell}
    columns = list(dict.fromkeys(column for _, column in cells))
    table = Table("", *columns, title=title, title_justify="left", show_lines=True)
    for line in dict.fromkeys(line for line, _ in cells):
        line_rows = [cells.get((line, column)) for column in columns]
        table.add_row(line, *(_cell_text(row) if row else "" for row in line_rows))
    return table


def _cell_text(row: Row) -> str:
    interval = "{:,.1f} to {:,.1f}".format(*row.interval) if row.interval else ""
    met = f"{row.goal}: {_verdict(row)}" if row.goal else ""
    return "\n".join(filter(None, (_value(row), interval, row.against, met)))


def _value(row: Row) -> str:
    return f"{row.value:,.4g} {row.unit}" if row.value is not None else ""


def _verdict(row: Row) -> str:
    return {True: "met", False: "missed", None: ""}[row.met]
