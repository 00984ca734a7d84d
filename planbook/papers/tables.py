"""Print the comparison of a run with the tables of papers."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from planbook.console import ALL
from planbook.papers.comparison import COLUMNS, ComparedPaper, ComparedTable, OurRow, PaperComparison
from planbook.papers.published import PublishedRow
from planbook.planner import Grid
from planbook.wording import NO_FIGURE, counted, fixed

OURS = "ours"
MAX_COLUMNS = 10
"""A table with more columns is transposed."""
PARTIAL = "(n/m): our figure is over n of the m task types that theirs is over; the others were not played."


def paper_tables(comparison: PaperComparison) -> Iterator[Grid | str]:
    """Yield a line about our run. Then, for each paper, yield tables with our figures, and the settings that differ.

    Tables for which our run has no figures are left out.
    """
    ours = comparison.ours
    yield f"Ours: {_describe_run(ours)}.\n"
    for paper in comparison.papers:
        shown = [compared for compared in paper.tables if _is_shown(compared, ours)]
        for compared in shown:
            wide = len(compared.table.columns) > MAX_COLUMNS
            yield from _transposed(paper, compared) if wide else _upright(paper, compared, ours)
            partial = PARTIAL if any(_is_partial(name, compared) for name in compared.table.columns) else ""
            yield "\n".join(filter(None, (partial, compared.table.note))) + "\n"
        yield from _lines(paper, shown)


def _is_shown(compared: ComparedTable, ours: OurRow) -> bool:
    return bool(compared.ours or ALL in compared.table.columns) and bool(ours.models or not compared.table.ablations)


def _lines(paper: ComparedPaper, shown: Sequence[ComparedTable]) -> Iterator[str]:
    names = [f"{name} {type}" for type, name in paper.names.items() if any(type in table.ours for table in shown)]
    if names:
        yield f"Names of the types here: {', '.join(names)}."
    yield f"Differences from {paper.paper}'s setting ({len(paper.differs)}):"
    yield from (f"  {difference}" for difference in paper.differs)
    quoted = f" Only quoted, as planbook does not play them as this paper does: {', '.join(paper.only_quoted)}."
    yield f"All other figures are the paper's own.{quoted if paper.only_quoted else ''}\n"


def _describe_run(ours: OurRow) -> str:
    models = ", ".join(ours.models) or "no model"
    spread = "" if ours.spread is None else f", standard deviation {ours.spread:.1f}"
    left_out = f"; without {', '.join(ours.without)}" if ours.without else ""
    solved = f"; {ours.overall:.1f} % solved, 95 % interval {_interval(ours.interval)}"
    tasks, repeats = counted(ours.tasks, "task"), counted(ours.repeats, "repeat")
    played = f"{ours.planner} with {models}, {ours.split or 'tasks'}: {tasks}, {repeats}"
    return f"{played}{solved}{spread}{left_out}"


def _episodes(compared: ComparedTable) -> str:
    """Return a line with the number of episodes in our row, and the interval of its column ``all``, if it has one."""
    bounds = f", {_interval(compared.interval)}" if ALL in compared.ours else ""
    return f"\nn {compared.episodes}{bounds}" if compared.episodes else ""


def _interval(bounds: tuple[float, float] | None) -> str:
    return f"{bounds[0]:.1f} to {bounds[1]:.1f}" if bounds else NO_FIGURE


def _title(paper: ComparedPaper, compared: ComparedTable, model: str = "") -> str:
    """Return the title of a table. It is printed on a separate line, since the table would wrap it at its width."""
    table = compared.table
    return f"{paper.paper}, {table.kind} {table.table}: {table.title} ({table.unit}){model and f', with {model}'}"


def _upright(paper: ComparedPaper, compared: ComparedTable, ours: OurRow) -> Iterator[Grid | str]:
    """Yield the title, and a table with a row for each method, the last of which is ours.

    If the paper reports k_max, the table has columns for it.
    """
    yield _title(paper, compared)
    columns, rows = compared.table.columns, compared.table.rows
    k_max_types = tuple(dict.fromkeys(type for row in rows for type in row.k_max))
    heads = (*(paper.names.get(name, name) for name in columns), *(f"k_max {type}" for type in k_max_types))
    cells = []
    for number, row in enumerate(rows):
        k_max = [fixed(row.k_max.get(type), 1) for type in k_max_types]
        like_ours = " (as ours)" if compared.otherwise and number in compared.alike else ""
        figures = (_figure(name, row.values, row.spread) for name in columns)
        cells.append((_method(row, rows) + like_ours, *figures, *k_max))
    k_max = [fixed(ours.k_max.get(type), 1) for type in k_max_types]
    options = (_option(name, value) for name, value in compared.otherwise.items())
    label = ", ".join((f"{OURS}: {ours.planner}", *options))
    cells.append((label + _episodes(compared), *(_our_figure(name, compared) for name in columns), *k_max))
    yield Grid("", "method", [head.replace(" ", "\n") for head in heads], cells)


def _transposed(paper: ComparedPaper, compared: ComparedTable) -> Iterator[Grid | str]:
    """Yield a title, and a table with a column for each method.

    If the paper played methods with several models, yield a title and a table for each model.
    """
    rows = compared.table.rows
    several = len({row.method for row in rows}) < len(rows)
    names = compared.ours if compared.table.by == "object" else compared.table.columns
    for model in dict.fromkeys(row.model if several else "" for row in rows):
        yield _title(paper, compared, model)
        shown = [row for row in rows if not several or row.model == model]
        cells = [
            (name, *(_figure(name, row.values, row.spread) for row in shown), _our_figure(name, compared))
            for name in names
        ]
        yield Grid("", "task", [*(_method(row, shown) for row in shown), OURS], cells)


def _method(row: PublishedRow, rows: Sequence[PublishedRow]) -> str:
    """Return the name of a row's method.

    If other rows have the same method, the name includes the options or the model that distinguish this row.
    """
    same_method = [other for other in rows if other.method == row.method]
    model = row.model if any(other.model != row.model for other in same_method) else ""
    varied = (
        name for name in row.options if any(other.options.get(name) != row.options[name] for other in same_method)
    )
    options = () if row.variant else (_option(name, row.options[name]) for name in varied)
    quoted = " (quoted only)" if row.quoted_only else ""
    return ", ".join(filter(None, (row.method, row.variant or model, *options))) + quoted


def _option(name: str, value: JsonValue) -> str:
    text = " + ".join(map(str, value)) or "nothing" if isinstance(value, list) else value
    return f"{name} {text}"


def _our_figure(name: str, compared: ComparedTable) -> str:
    played = f" ({compared.types_played}/{compared.types})" if _is_partial(name, compared) else ""
    return f"{_figure(name, compared.ours, compared.spread)}{played}"


def _is_partial(name: str, compared: ComparedTable) -> bool:
    return name == ALL and name in compared.ours and compared.types_played < compared.types


def _figure(name: str, values: Mapping[str, float], spread: Mapping[str, float]) -> str:
    """Return a figure as text. If its column is in ``COLUMNS``, the standard deviation is added."""
    if name not in COLUMNS:
        return fixed(values.get(name), 1)
    deviation = f" ± {spread[name]:.1f}" if name in spread else ""
    return f"{fixed(values.get(name), COLUMNS[name].digits)}{deviation}"
