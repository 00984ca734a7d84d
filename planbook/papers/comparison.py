"""Compare the results of a run with the tables of papers, and print both next to each other.

As in the whole package, "our" and "ours" refer to planbook, and "theirs" to a paper.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from planbook.console import ALL
from planbook.papers import PaperSetting, Publication, PublishedRow, PublishedTable, papers_of
from planbook.papers.differences import OurRun, PaperDifference, differences
from planbook.planner import Grid
from planbook.results.measures import overall_measure
from planbook.results.rows import EpisodeResult
from planbook.results.statistics import percent
from planbook.results.summary import solved_interval
from planbook.wording import NO_FIGURE, counted, fixed

REWARD = "reward"
FigureOfRun = Callable[[OurRun], float | None]


class Column(NamedTuple):
    """The functions that compute our number for a column of a paper's table.

    ``value`` returns the number for a run, and ``sd`` its standard deviation, or None if the run lacks it. ``digits``
    is the number of decimal places to show.
    """

    value: FigureOfRun
    sd: FigureOfRun = lambda run: None
    digits: int = 1


def _reward_figure(statistic: str) -> FigureOfRun:
    return lambda run: getattr(overall_measure(run.summary.measures, REWARD), statistic, None)


def _search_figure(statistic: str) -> FigureOfRun:
    return lambda run: getattr(run.summary.methods.get("search"), statistic, None)


def _cost_of_run(run: OurRun) -> float | None:
    """Return the cost of the run: 0 without a model, None if a price is unknown or no reply had to be paid for."""
    return (run.summary.money or None) if run.uses_a_model else 0.0


COLUMNS: Mapping[str, Column] = {
    "score": Column(lambda run: round(100 * run.summary.mean_score, 1)),
    "reward": Column(_reward_figure("mean"), _reward_figure("sd")),
    "unlock score": Column(lambda run: run.summary.unlock_score, digits=2),
    "cost": Column(_cost_of_run, digits=2),
    "error steps": Column(lambda run: run.summary.mean_error_steps, digits=2),
    "human examples": Column(lambda run: len(run.start) or None, digits=0),
    "actions, first round": Column(_search_figure("mean_actions_first"), digits=2),
    "actions, last round": Column(_search_figure("mean_actions_last"), digits=2),
    "plan revisions": Column(_search_figure("mean_revisions"), digits=2),
}
"""The columns with numbers about a whole run other than shares of solved tasks. Scores are from 0 to 100, and costs in
US dollars."""


class ComparedTable(BaseModel):
    """A table of a paper, with our numbers in those columns that the run can fill.

    ``ours`` maps columns to our numbers, and ``sd`` to their standard deviations, as far as we compute them.
    ``episodes`` is the number of our episodes that the table covers. ``interval`` is the 95 % interval of
    our number in the column ``all``, or "" if the table has no such column.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    table: PublishedTable
    ours: dict[str, float]
    sd: dict[str, float] = Field(serialization_alias="spread")
    episodes: int = Field(exclude=True)
    interval: str = Field(exclude=True)


class ComparedPaper(BaseModel):
    """The tables of a paper that can be compared with the run. ``names`` maps our task types to the paper's names."""

    paper: str
    names: dict[str, str]
    differs: tuple[PaperDifference, ...]
    only_quoted: tuple[str, ...]
    """The methods in these tables that planbook does not have. They have only the paper's numbers."""
    tables: tuple[ComparedTable, ...]


def compare_with_papers(run: OurRun) -> tuple[ComparedPaper, ...]:
    """Compare a run with the papers about its method and environment. Return () if no paper uses the environment."""
    papers = papers_of(run.config.planner, run.config.environment.name)
    return tuple(_compare_paper(paper, run) for paper in papers)


def _interval(rows: Sequence[EpisodeResult]) -> str:
    """Return the 95 % interval of the percentage of solved episodes as text, or "-" if there is none."""
    bounds = solved_interval(rows)
    return f"{100 * bounds[0]:.1f} to {100 * bounds[1]:.1f}" if bounds else NO_FIGURE


def _column_of(row: EpisodeResult, table: PublishedTable) -> str:
    """Return the column for a task: its type, or the object that its params name ("" if they name none)."""
    return row.type if table.grouped_by == "type" else str(row.entry.task.params.get("object", ""))


def _compare_paper(paper: Publication, run: OurRun) -> ComparedPaper:
    setting = paper.setting(run.config.environment.name, run.split, run.summary.by_type)
    comparable_tables = [table for table in paper.tables if _can_be_compared(table, paper, setting, run)]
    quoted = dict.fromkeys(row.method for table in comparable_tables for row in table.rows if row.planner is None)
    return ComparedPaper(
        paper=paper.paper,
        names=dict(paper.names),
        differs=differences(run, paper, setting),
        only_quoted=tuple(quoted),
        tables=tuple(_compare_table(table, paper, setting, run) for table in comparable_tables),
    )


def _can_be_compared(table: PublishedTable, paper: Publication, setting: PaperSetting, run: OurRun) -> bool:
    """Return True if a table can be compared with the run.

    The table must be about the run's environment, and about the same setting, unless both settings list their task
    types. It must also be a main table, or have a row about our method.
    """
    if table.env != setting.env:
        return False
    table_setting = paper.setting(table.env, table.split)
    same_tasks = table_setting == setting or bool(table_setting.types and setting.types)
    return same_tasks and (table.main or bool(table.rows_of(run.config.planner)))


def _compare_table(table: PublishedTable, paper: Publication, setting: PaperSetting, run: OurRun) -> ComparedTable:
    measured = [name for name in table.columns if name in COLUMNS]
    named = {*table.columns} - {ALL, *COLUMNS}
    types = frozenset(paper.setting(table.env, table.split).types or (named if table.grouped_by == "type" else ()))
    solved = defaultdict[str, list[bool]](list)
    for row in run.rows:
        solved[_column_of(row, table)].append(row.solved)
    figures = {name: percent(solved[name]) for name in table.columns if name in solved}
    is_comparable = not setting.types or types <= set(setting.types)
    covered = types if ALL in table.columns else named
    episodes = [row for row in run.rows if is_comparable and (not covered or _column_of(row, table) in covered)]
    has_overall = ALL in table.columns and bool(episodes)
    if has_overall:
        figures[ALL] = percent([row.solved for row in episodes])
    return ComparedTable(
        table=table,
        ours=_without_none(figures | {name: COLUMNS[name].value(run) for name in measured}),
        sd=_without_none({name: COLUMNS[name].sd(run) for name in measured}),
        episodes=len(episodes),
        interval=_interval(episodes) if has_overall else "",
    )


def _without_none(figures: Mapping[str, float | None]) -> dict[str, float]:
    """Return the figures that are not None."""
    return {name: figure for name, figure in figures.items() if figure is not None}


# Printed tables

OURS = "ours"
MAX_COLUMNS = 10
"""A table with more columns is transposed."""


def paper_tables(run: OurRun, papers: Sequence[ComparedPaper]) -> Iterator[Grid | str]:
    """Yield a line about our run and, for each paper, its tables with our numbers, and the differing settings.

    Tables in which our run has no numbers are left out, unless they have a column ``all``.
    """
    yield f"Ours: {_describe_run(run)}.\n"
    for paper in papers:
        shown = [compared for compared in paper.tables if compared.ours or ALL in compared.table.columns]
        for compared in shown:
            yield from _parts_of_table(paper, compared, run)
            yield f"{compared.table.note}\n"
        yield from _lines_below(paper, shown)


def _lines_below(paper: ComparedPaper, shown: Sequence[ComparedTable]) -> Iterator[str]:
    names = [f"{name} {type}" for type, name in paper.names.items() if any(type in table.ours for table in shown)]
    if names:
        yield f"Task types, with our names: {', '.join(names)}."
    yield f"Differences from {paper.paper}'s setting ({len(paper.differs)}):"
    yield from (f"  {difference}" for difference in paper.differs)
    quoted = f" Only quoted, because planbook does not play them as this paper does: {', '.join(paper.only_quoted)}."
    yield f"All other figures are the paper's own.{quoted if paper.only_quoted else ''}\n"


def _describe_run(run: OurRun) -> str:
    summary, models = run.summary, ", ".join(run.models) or "no model"
    deviation = "" if summary.solved_sd is None else f", standard deviation {100 * summary.solved_sd:.1f}"
    left_out = f"; without {', '.join(run.without)}" if run.without else ""
    share = percent([row.solved for row in run.rows]) or 0.0
    solved = f"; {share:.1f} % solved, 95 % interval {_interval(run.rows)}"
    tasks, repeats = counted(run.tasks, "task"), counted(summary.repeats, "repeat")
    played = f"{run.config.title} with {models}, {run.split or 'tasks'}: {tasks}, {repeats}"
    return f"{played}{solved}{deviation}{left_out}"


def _episodes_line(compared: ComparedTable, repeats: int) -> str:
    """Return a line with the number of episodes of our row. If the row has a column ``all``, add its interval."""
    in_repeats = f" ({repeats} repeats)" if repeats > 1 else ""
    interval = compared.interval and f", {compared.interval}"
    return f"\nn {compared.episodes}{in_repeats}{interval}" if compared.episodes else ""


def _title(paper: ComparedPaper, compared: ComparedTable, model: str = "") -> str:
    """Return the title of a table. It is printed above the table, since a table would wrap its title at its width."""
    table = compared.table
    return f"{paper.paper}, {table.kind} {table.table}: {table.title} ({table.unit}){model and f', with {model}'}"


def _parts_of_table(paper: ComparedPaper, compared: ComparedTable, run: OurRun) -> Iterator[Grid | str]:
    """Yield the title, and a table with a row for each of the paper's methods, followed by our row.

    If the paper reports k_max, the table has columns for it. A table with many columns is transposed. If a
    transposed table has several models for a method, yield a title and a table for each model.
    """
    table, our_k_max = compared.table, getattr(run.summary.methods.get("subtasks"), "k_max_by_type", {})
    is_wide = len(table.columns) > MAX_COLUMNS
    by_model = is_wide and len({row.method for row in table.rows}) < len(table.rows)
    names = compared.ours if is_wide and table.grouped_by == "object" else table.columns
    for model in dict.fromkeys(row.model if by_model else "" for row in table.rows):
        yield _title(paper, compared, model)
        rows = [row for row in table.rows if not by_model or row.model == model]
        methods = [
            *map(_row_name, rows),
            OURS if is_wide else f"{OURS}: {run.config.title}{_episodes_line(compared, run.summary.repeats)}",
        ]
        sources = [*((row.values, row.sd) for row in rows), (compared.ours, compared.sd)]
        columns = {name: [_format_figure(name, values, sd) for values, sd in sources] for name in names}
        for task_type in dict.fromkeys(task_type for row in rows for task_type in row.k_max):
            columns[f"k_max {task_type}"] = [
                fixed(k_max.get(task_type), 1) for k_max in (*(row.k_max for row in rows), our_k_max)
            ]
        if is_wide:
            yield Grid("", "task", methods, [(name, *cells) for name, cells in columns.items()])
        else:
            heads = [paper.names.get(name, name).replace(" ", "\n") for name in columns]
            cells_of = zip(methods, zip(*columns.values(), strict=True), strict=True)
            yield Grid("", "method", heads, [(method, *cells) for method, cells in cells_of])


def _row_name(row: PublishedRow) -> str:
    """Return the name of a row: its method, and the variant that distinguishes it from other rows."""
    return ", ".join(filter(None, (row.method, row.variant))) + (" (quoted only)" if row.quoted_only else "")


def _format_figure(name: str, values: Mapping[str, float], sd: Mapping[str, float]) -> str:
    """Return a number of a table as text. In a column of ``COLUMNS``, its standard deviation follows if it is known."""
    if name not in COLUMNS:
        return fixed(values.get(name), 1)
    deviation = f" ± {sd[name]:.1f}" if name in sd else ""
    return f"{fixed(values.get(name), COLUMNS[name].digits)}{deviation}"
