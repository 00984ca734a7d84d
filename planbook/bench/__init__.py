"""Our own speed and skill, beside the peers that are installed; the figures of a part are taken in one run."""

import dataclasses
import importlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass

import click
from rich.table import Table

from planbook.printing import ERRORS, console

BENCHES: Mapping[str, tuple[str, ...]] = {
    "envs": ("planbook.bench.alfworld", "planbook.bench.miniwob", "planbook.bench.replay"),
    "sandbox": ("planbook.bench.sandbox",),
    "selector": ("planbook.bench.selector",),
}
"""Part to the modules that measure it; each has a function ``rows() -> list[Row]``."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure. ``ratio`` is how it compares with the peer or limit named in ``against``.

    ``value`` is None where there is nothing to measure; the name says why.
    """

    name: str
    value: float | None
    unit: str
    ratio: float | None = None
    against: str = ""
    goal: str = ""
    met: bool | None = None
    interval: tuple[float, float] | None = None
    """What the value lies in at 95%, in its unit."""


def show(part: str, *, as_json: bool) -> int:
    """Measure a part and print its rows; a missed goal is shown, and is no error."""
    out = console(as_json)
    rows: list[Row] = []
    for module in BENCHES[part]:
        ERRORS.print(f"measuring {module.rpartition('.')[2]} ...")
        rows += importlib.import_module(module).rows()
    table = Table(title=f"bench {part}: Python {platform.python_version()}, {platform.machine()}", title_justify="left")
    for column in ("what", "measured", "95%", "ratio", "against", "goal", ""):
        table.add_column(column, justify="right" if column in ("measured", "95%", "ratio") else "left")
    for row in rows:
        ratio = f"{row.ratio:,.2f}" if row.ratio is not None else ""
        met = {True: "met", False: "missed", None: ""}[row.met]
        value = f"{row.value:,.4g} {row.unit}" if row.value is not None else ""
        interval = "{:,.4g} to {:,.4g}".format(*row.interval) if row.interval else ""
        table.add_row(row.name, value, interval, ratio, row.against, row.goal, met)
    out.print(table)
    if as_json:
        click.echo(json.dumps({"part": part, "rows": [dataclasses.asdict(row) for row in rows]}))
    return 0
