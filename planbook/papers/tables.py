"""A run beside the tables of papers, as people read it."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue
from rich.table import Table

from planbook.console import right_aligned
from planbook.papers.comparison import COLUMNS, ComparedPaper, ComparedTable, OurRow, PaperComparison
from planbook.papers.published import ALL, PublishedRow
from planbook.wording import fixed

OURS = "ours"
WIDEST = 10
"""Columns above which a table is shown on its side."""
PARTLY = "(n/m): our figure is over n of the m task types that theirs is over; the others were not played."


def paper_tables(compared: PaperComparison) -> Iterator[Table | str]:
    """Yield our run, then by paper the tables that it has a figure for, each with our row, and all differences."""
    yield f"Ours: {_who(compared.ours)}.\n"
    for paper in compared.papers:
        shown = [each for each in paper.tables if _is_shown(each, compared.ours)]
        for each in shown:
            yield from _lying(paper, each) if len(each.table.columns) > WIDEST else _upright(paper, each, compared.ours)
            partly = PARTLY if any(_partly(name, each) for name in each.table.columns) else ""
            yield "\n".join(filter(None, (partly, each.table.note))) + "\n"
        yield from _lines(paper, shown)


def _is_shown(each: ComparedTable, ours: OurRow) -> bool:
    return bool(each.ours or ALL in each.table.columns) and bool(ours.models or not each.table.ablations)


def _lines(paper: ComparedPaper, shown: Sequence[ComparedTable]) -> Iterator[str]:
    named = [f"{paper.names[kind]} {kind}" for kind in paper.names if any(kind in each.ours for each in shown)]
    if named:
        yield f"Names of the types here: {', '.join(named)}."
    yield f"Differences from {paper.paper}'s setting ({len(paper.differs)}):"
    yield from (f"  {each}" for each in paper.differs)
    quoted = f" Only quoted, as they cannot be played here: {', '.join(paper.only_quoted)}."
    yield f"All other figures are the paper's own.{quoted if paper.only_quoted else ''}\n"


def _who(ours: OurRow) -> str:
    models = ", ".join(ours.models) or "no model"
    times = "1 repeat" if ours.repeats == 1 else f"{ours.repeats} repeats"
    spread = "" if ours.spread is None else f", standard deviation {ours.spread:.1f}"
    left_out = f"; without {', '.join(ours.without)}" if ours.without else ""
    within = f"; {ours.overall:.1f} % solved, 95 % interval {ours.interval[0]:.1f} to {ours.interval[1]:.1f}"
    who = f"{ours.planner} with {models}, {ours.split or 'tasks'}: {ours.tasks} tasks, {times}"
    return f"{who}{within}{spread}{left_out}"


def _title(paper: ComparedPaper, each: ComparedTable, model: str = "") -> str:
    """Return the title as a line of its own: a table would break it at its width."""
    table = each.table
    return f"{paper.paper}, {table.kind} {table.table}: {table.title} ({table.unit}){model and f', with {model}'}"


def _upright(paper: ComparedPaper, each: ComparedTable, ours: OurRow) -> Iterator[Table | str]:
    """Draw a row for each method, ours last, with k_max in columns of its own where the paper has it."""
    yield _title(paper, each)
    columns, rows = each.table.columns, each.table.rows
    deepest = tuple(dict.fromkeys(kind for row in rows for kind in row.k_max))
    heads = (*(paper.names.get(name, name) for name in columns), *(f"k_max {name}" for name in deepest))
    table = right_aligned("method", (head.replace(" ", "\n") for head in heads))
    for number, row in enumerate(rows):
        k_max = [fixed(row.k_max.get(name), 1) for name in deepest]
        like_ours = " (as ours)" if each.otherwise and number in each.alike else ""
        figures = (_figure(name, row.values, row.spread) for name in columns)
        table.add_row(_method(row, rows) + like_ours, *figures, *k_max)
    table.add_section()
    k_max = [fixed(ours.k_max.get(name), 1) for name in deepest]
    options = (_option(name, value) for name, value in each.otherwise.items())
    within = f"n {ours.tasks * ours.repeats}, {ours.interval[0]:.1f} to {ours.interval[1]:.1f}"
    label = ", ".join((f"{OURS}: {ours.planner}", *options)) + f"\n{within}"
    table.add_row(label, *(_our_figure(name, each) for name in columns), *k_max, style="bold")
    yield table


def _lying(paper: ComparedPaper, each: ComparedTable) -> Iterator[Table | str]:
    """Draw a column for each method, in a table for each model if methods have several."""
    rows = each.table.rows
    several = len({row.method for row in rows}) < len(rows)
    names = each.ours if each.table.by == "object" else each.table.columns
    for model in dict.fromkeys(row.model if several else "" for row in rows):
        yield _title(paper, each, model)
        shown = [row for row in rows if not several or row.model == model]
        table = right_aligned("task", (_method(row, shown) for row in shown), long="whole")
        table.add_column(OURS, justify="right", style="bold")
        for name in names:
            table.add_row(name, *(_figure(name, row.values, row.spread) for row in shown), _our_figure(name, each))
        yield table


def _method(row: PublishedRow, rows: Sequence[PublishedRow]) -> str:
    """Return the method; where a table has it more than once, with what its rows vary."""
    alike = [other for other in rows if other.method == row.method]
    model = row.model if any(other.model != row.model for other in alike) else ""
    varied = (name for name in row.options if any(other.options.get(name) != row.options[name] for other in alike))
    options = () if row.variant else (_option(name, row.options[name]) for name in varied)
    quoted = " (quoted only)" if row.quoted_only else ""
    return ", ".join(filter(None, (row.method, row.variant or model, *options))) + quoted


def _option(name: str, value: JsonValue) -> str:
    listed = " + ".join(map(str, value)) or "nothing" if isinstance(value, list) else value
    return f"{name} {listed}"


def _our_figure(name: str, each: ComparedTable) -> str:
    played = f" ({each.types_played}/{each.types})" if _partly(name, each) else ""
    return f"{_figure(name, each.ours, each.spread)}{played}"


def _partly(name: str, each: ComparedTable) -> bool:
    return name == ALL and name in each.ours and each.types_played < each.types


def _figure(name: str, values: Mapping[str, float], spread: Mapping[str, float]) -> str:
    """Return a figure, with its standard deviation in a column that is a measure of the run."""
    if name not in COLUMNS:
        return fixed(values.get(name), 1)
    beside = f" ± {spread[name]:.1f}" if name in spread else ""
    return f"{fixed(values.get(name), COLUMNS[name].digits)}{beside}"
