"""Rows of runs as people read them: what was solved, what it cost, and how far runs of a group lie apart."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table

from planbook.compare.groups import Row
from planbook.console import right_aligned
from planbook.results import plain
from planbook.wording import NO_FIGURE, interval

BUILDING = " (building)"


def group_parts(rows: Sequence[Row]) -> Iterator[Table | str]:
    """Two tables, and what does not fit in them."""
    single = all(row.runs == (row.name,) for row in rows)
    below = _common([row.name for row in rows]) if single else ""
    if below:
        yield f"Runs below {below}"
    names = [(os.path.relpath(row.name, below) if below else row.name) + BUILDING * row.building for row in rows]
    what = "run" if single else "runs"
    yield _solved(what, names, rows)
    yield _spent(what, names, rows)
    for name, row in zip(names, rows, strict=True):
        yield from (f"{name}: {line}." for line in _lines(row))
    if any(row.building for row in rows):
        yield "Building runs: later tasks were played with what was learnt from the earlier ones."


def _common(names: Sequence[str]) -> str:
    """The folder that all runs lie in, if it is worth telling."""
    if len({Path(name).is_absolute() for name in names}) > 1:
        return ""
    return os.path.commonpath([Path(name).parent for name in names])


def _solved(what: str, names: Sequence[str], rows: Sequence[Row]) -> Table:
    columns = ("tasks", "solved", "%", "95 % interval", "broken", "not run")
    table = right_aligned(what, columns, title="Solved, of all tasks")
    for name, row in zip(names, rows, strict=True):
        share = f"{row.share:.1%}".rstrip("%") if row.tasks else NO_FIGURE
        within = interval(row.low, row.high) if row.tasks and not row.not_run else NO_FIGURE
        table.add_row(name, f"{row.tasks:,}", f"{row.solved:,}", share, within, str(row.broken), str(row.not_run))
    return table


def _spent(what: str, names: Sequence[str], rows: Sequence[Row]) -> Table:
    columns = ["actions", "errors", "calls", "tokens", "$", "calls / solved", "$ / solved", "seconds"]
    title = "Actions and error steps: means over what was played; the rest: sums, seconds those of the episodes alone"
    table = right_aligned(what, columns, title=title)
    for name, row in zip(names, rows, strict=True):
        each = row.per_solved
        table.add_row(
            name,
            *map(_told, (row.mean_actions, row.mean_error_steps)),
            f"{row.calls:,}",
            f"{row.tokens:,}",
            *map(_told, (row.money, each.calls, each.money, row.seconds)),
        )
    return table


def _lines(row: Row) -> Iterator[str]:
    if row.share_mean is not None and row.share_sd is not None:
        yield f"{len(row.runs)} runs, solved in each {row.share_mean:.1%} ± {row.share_sd:.1%}"
    if row.several:
        yield (
            f"of {row.several:,} tasks that were played several times {row.once:,} were solved at least once "
            f"({row.once / row.several:.1%}) and {row.every_time:,} every time ({row.every_time / row.several:.1%})"
        )
    if row.left_out:
        yield f"{row.left_out} building tasks left out, as their type was solved often enough"


def _told(figure: float | None) -> str:
    return NO_FIGURE if figure is None else plain(figure, 3)
