"""A comparison as people read it."""

from collections.abc import Iterator

from rich.table import Table

from planbook.papers.comparison import ABLATIONS, Beside, Comparison, Ours
from planbook.papers.figures import Row, automanual

NOTHING = "-"
OURS = "ours"


def tables(compared: Comparison) -> Iterator[Table]:
    """Success by task type, a table for each of the paper's test models; then its ablations, where a model played."""
    by_type = [each for each in compared.tables if each.figures.what != ABLATIONS]
    ablations = [each for each in compared.tables if each.figures.what == ABLATIONS]
    for model in automanual().test_models:
        yield _by_type(compared, by_type, model)
    if compared.ours.models:
        yield _ablations(compared, ablations)


def lines(compared: Comparison) -> Iterator[str]:
    """Who ours is, what differs, and what is only quoted."""
    ours, quoted = compared.ours, ", ".join(compared.only_quoted)
    yield f"Ours: {_who(ours)}."
    yield f"What differs from the paper's setting ({len(compared.differs)}):"
    yield from (f"  {each}" for each in compared.differs)
    yield f"All other figures are the paper's own. Only quoted, as they cannot be played here: {quoted}."


def _who(ours: Ours) -> str:
    models = ", ".join(ours.models) or "no model"
    times = "1 repeat" if ours.repeats == 1 else f"{ours.repeats} repeats"
    spread = "" if ours.spread is None else f", standard deviation {ours.spread:.1f}"
    left_out = f"; without {', '.join(ours.without)}" if ours.without else ""
    return f"{ours.planner} with {models}, {ours.split or 'tasks'}: {ours.tasks} tasks, {times}{spread}{left_out}"


def _by_type(compared: Comparison, beside: list[Beside], model: str) -> Table:
    numbers = sorted({str(each.figures.table) for each in beside})
    which = f"table{'s' if len(numbers) > 1 else ''} {' and '.join(numbers)}"
    table = Table(title=f"{compared.paper}, {which}: % solved, tested with {model}", title_justify="left")
    methods = list(dict.fromkeys(row.method for each in beside for row in each.figures.rows))
    table.add_column("task type", no_wrap=True)
    for method in (*methods, OURS):
        table.add_column(method, justify="right", style="bold" if method == OURS else None)
    rows = [{row.method: row for row in each.figures.rows if row.model == model} for each in beside]
    for kind in dict.fromkeys(kind for each in rows for row in each.values() for kind in row.by_type):
        figures = {method: row.by_type.get(kind) for each in rows for method, row in each.items() if row.by_type}
        table.add_row(_named(kind), *(_told(figures.get(m)) for m in methods), _told(compared.ours.by_type.get(kind)))
    table.add_section()
    for label, (each, row) in {b.figures.label: (b, r) for b, r in zip(beside, rows, strict=True)}.items():
        table.add_row(label, *(_told(row[m].overall) for m in methods), _over(each))
        examples = [str(row[m].examples or NOTHING) for m in methods]
        table.add_row("  human examples", *examples, str(len(compared.ours.start) or NOTHING), style="dim")
    return table


def _ablations(compared: Comparison, beside: list[Beside]) -> Table:
    """What was left out, one row each, whichever of the paper's tables it is in."""
    ours, models = compared.ours, list(automanual().test_models)
    table = Table(title=f"{compared.paper}, ablations: % solved, mean error steps", title_justify="left")
    table.add_column("without", no_wrap=True)
    for column in ("table", *models, f"{models[-1]}, steps", OURS, "ours, steps"):
        table.add_column(column, justify="right", style="bold" if OURS in column else None)
    own = (_told(ours.overall), _told(ours.error_steps, 2))
    found = False
    for label, rows in _by_label(beside).items():
        figures = {row.model: row for _, row, _ in rows}
        steps = next((row.error_steps for _, row, _ in rows if row.error_steps is not None), None)
        numbers = dict.fromkeys(str(number) for number, _, _ in rows)
        is_ours = any(matches for _, _, matches in rows)
        found |= is_ours
        shares = (_told(figures[model].overall) if model in figures else NOTHING for model in models)
        table.add_row(label, ", ".join(numbers), *shares, _told(steps), *(own if is_ours else ("", "")))
    if not found:
        varied = any(row.start for each in beside for row in each.figures.rows)
        label = _label(ours.without, ours.start if varied else ()) if ours.learnt else "nothing was learnt"
        table.add_row(label, *[NOTHING] * (len(models) + 2), *own)
    return table


def _by_label(beside: list[Beside]) -> dict[str, list[tuple[int, Row, bool]]]:
    """The rows of several tables by what they leave out: the table's number, the row, and whether it is like ours."""
    found: dict[str, list[tuple[int, Row, bool]]] = {}
    for each in beside:
        for number, row in enumerate(each.figures.rows):
            label = _label(row.without or (), row.start)
            found.setdefault(label, []).append((each.figures.table, row, number in each.ours_at))
    return found


def _label(without: tuple[str, ...], start: tuple[str, ...]) -> str:
    told = ", ".join(without) or "nothing"
    return f"{told}; start: {', '.join(start)}" if start else told


def _over(beside: Beside) -> str:
    """Our overall figure, and over how many of the types it is where some are missing."""
    missing = beside.ours is not None and beside.types_played < beside.types
    return f"{_told(beside.ours)} ({beside.types_played}/{beside.types})" if missing else _told(beside.ours)


def _named(kind: str) -> str:
    """Our name of a type, with the paper's where that is another."""
    name = automanual().names.get(kind)
    return f"{kind} ({name})" if name else kind


def _told(figure: float | None, digits: int = 1) -> str:
    return NOTHING if figure is None else f"{figure:.{digits}f}"
