"""A run beside a paper's tables, as people read it."""

from collections.abc import Iterator, Mapping

from rich.table import Table

from planbook.papers.beside import Beside, BesideTable, OurRow
from planbook.papers.columns import COLUMNS
from planbook.papers.published import ALL, Line

NOTHING, OURS = "-", "ours"
WIDEST = 10
"""Columns from which on a table is shown lying on its side, with the rows that we have figures of."""


def sheets(compared: Beside) -> Iterator[Table | str]:
    """The tables that the run has a figure for, each with our row; then who ours is, and all that differs."""
    for each in compared.tables:
        if not each.ours:
            continue
        yield _title(compared, each)
        yield _upright(compared, each) if len(each.table.columns) <= WIDEST else _lying(compared, each)
        if each.table.note:
            yield f"{each.table.note}\n"
    yield f"Ours: {_who(compared.ours)}."
    yield f"What differs from the paper's setting ({len(compared.differs)}):"
    yield from (f"  {each}" for each in compared.differs)
    quoted = f" Only quoted, as they cannot be played here: {', '.join(compared.only_quoted)}."
    yield f"All other figures are the paper's own.{quoted if compared.only_quoted else ''}"


def _who(ours: OurRow) -> str:
    models = ", ".join(ours.models) or "no model"
    times = "1 repeat" if ours.repeats == 1 else f"{ours.repeats} repeats"
    spread = "" if ours.spread is None else f", standard deviation {ours.spread:.1f}"
    return f"{ours.planner} with {models}, {ours.split or 'tasks'}: {ours.tasks} tasks, {times}{spread}"


def _title(compared: Beside, each: BesideTable) -> str:
    """As a line of its own: a table would break it at its width."""
    published = each.table
    return f"{compared.paper}, {published.kind} {published.table}: {published.title} ({published.unit})"


def _upright(compared: Beside, each: BesideTable) -> Table:
    """A row for each method, ours last; k_max in columns of its own where the paper has it."""
    table, columns = Table(), each.table.columns
    deepest = tuple(dict.fromkeys(kind for row in each.table.rows for kind in row.k_max))
    table.add_column("method", no_wrap=True)
    for name in columns:
        table.add_column(compared.names.get(name, name), justify="right")
    for name in deepest:
        table.add_column(f"k_max {name}", justify="right")
    for row in each.table.rows:
        k_max = [_told(row.k_max.get(name)) for name in deepest]
        table.add_row(_method(row, each), *(_figure(name, row.values, row.spread) for name in columns), *k_max)
    table.add_section()
    stars = {ALL: "*" if each.partly else ""}
    ours = [_figure(name, each.ours, each.spread) + stars.get(name, "") for name in columns]
    k_max = [_told(compared.ours.k_max.get(name)) for name in deepest]
    options = (f"{name} {value}" for name, value in each.otherwise.items())
    table.add_row(", ".join((f"{OURS}: {compared.ours.planner}", *options)), *ours, *k_max, style="bold")
    if each.partly and ALL in columns:
        table.caption = "* not all of the table's task types were played"
    return table


def _lying(compared: Beside, each: BesideTable) -> Table:
    """A column for each method; only what the run played."""
    table = Table()
    table.add_column("task", no_wrap=True)
    for row in each.table.rows:
        table.add_column(_method(row, each), justify="right")
    table.add_column(OURS, justify="right", style="bold")
    for name, figure in each.ours.items():
        table.add_row(name, *(_told(row.values.get(name)) for row in each.table.rows), _told(figure))
    return table


def _method(row: Line, each: BesideTable) -> str:
    """The method; where a table has it more than once, what its rows vary, too."""
    alike = [other for other in each.table.rows if other.method == row.method]
    varied = row.variant or (row.model if len(alike) > 1 else "")
    return f"{row.method}, {varied}" if varied else row.method


def _figure(name: str, values: Mapping[str, float], spread: Mapping[str, float]) -> str:
    """A figure; with its standard deviation in a column that is a measure of the run."""
    if name not in COLUMNS:
        return _told(values.get(name))
    beside = f" ± {spread[name]:.1f}" if name in spread else ""
    return f"{_told(values.get(name), COLUMNS[name].digits)}{beside}"


def _told(figure: float | None, digits: int = 1) -> str:
    return NOTHING if figure is None else f"{figure:.{digits}f}"
