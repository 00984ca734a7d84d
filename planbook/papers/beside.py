"""A run held beside the tables of a paper (``published.py``)."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook.config import Config
from planbook.episodes.runner import recorded_endings
from planbook.figures.statistics import percent
from planbook.figures.summary import Summary
from planbook.papers.columns import COLUMNS, measured, spreads
from planbook.papers.differences import Difference
from planbook.papers.ours import OurFigures
from planbook.papers.played import models_asked
from planbook.papers.published import ALL, Publication, Published, publication_of
from planbook.papers.unlike import WITHOUT_A_MODEL, options_told, split_of, unlike
from planbook.run import Run

OBJECT = "object"
"""The parameter of a task that names what it is about."""


class OurRow(OurFigures):
    """Our row beside ADaPT's and DEPS'; ``k_max`` is a mean by task type."""

    k_max: dict[str, float | None]


class BesideTable(BaseModel):
    """A table, and our figures for its columns; of what the run did not play there are none.

    ``spread`` has the standard deviations of those that are means. ``partly`` says that the tasks are not all that the
    column ``all`` is over; ``otherwise`` has the options of our planner that rows of the same method have otherwise.
    """

    model_config = ConfigDict(frozen=True)

    table: Published
    ours: dict[str, float]
    spread: dict[str, float]
    partly: bool
    otherwise: dict[str, JsonValue]


class Beside(BaseModel):
    """The field ``table`` of ``--table --json`` for papers that are kept as tables."""

    model_config = ConfigDict(frozen=True)

    paper: str
    names: dict[str, str]
    ours: OurRow
    differs: tuple[Difference, ...]
    only_quoted: tuple[str, ...]
    """Methods whose figures are the paper's alone: they cannot be played here."""
    tables: tuple[BesideTable, ...]


def beside(config: Config, summary: Summary) -> Beside | None:
    """Hold a run beside the paper of its method and world; None where no such paper has the world. Raises BadRun."""
    paper = publication_of(config.planner, config.world.name)
    if paper is None:
        return None
    with closing(Run.open(Path(summary.run))) as run:
        models = () if config.planner in WITHOUT_A_MODEL else models_asked(run)
        by_object = _by_object(run)
    fitting = [table for table in paper.tables if _fits(table, config, paper)]
    by_type = {kind: share for kind, counts in summary.by_type.items() if (share := percent([counts])) is not None}
    quoted = {row.method: None for table in fitting for row in table.rows if row.planner is None}
    return Beside(
        paper=paper.paper,
        names=paper.names,
        ours=OurRow(
            planner=config.title,
            models=models,
            split=split_of(config),
            tasks=summary.tasks // summary.repeats,
            repeats=summary.repeats,
            overall=percent(summary.by_type.values()) or 0.0,
            spread=None if summary.spread is None else round(100 * summary.spread, 1),
            by_type=by_type,
            k_max=summary.subtasks.k_max_by_type if summary.subtasks else {},
        ),
        differs=unlike(config, summary, models, paper),
        only_quoted=tuple(quoted),
        tables=tuple(_held(table, config, summary, by_type, by_object) for table in fitting),
    )


def _fits(table: Published, config: Config, paper: Publication) -> bool:
    """Whether a table is about what the run is: its world, its split if the paper has that, and its method."""
    if table.env != config.world.name or table.by == "skill":
        return False
    setting = paper.setting(config.world.name, split_of(config))
    mine = any(row.planner == config.planner for row in table.rows)
    return table.split == setting.split and (mine or table.main)


def _held(
    table: Published, config: Config, summary: Summary, by_type: Mapping[str, float], by_object: Mapping[str, float]
) -> BesideTable:
    ours = by_type if table.by == "type" else by_object
    figures = {name: ours[name] for name in table.columns if name in ours}
    if ALL in table.columns:
        figures[ALL] = percent(summary.by_type.values()) or 0.0
    partly = any(name not in figures for name in table.columns if name not in COLUMNS)
    figures |= measured(table.columns, summary)
    spread = spreads(table.columns, summary)
    return BesideTable(table=table, ours=figures, spread=spread, partly=partly, otherwise=_otherwise(table, config))


def _otherwise(table: Published, config: Config) -> dict[str, JsonValue]:
    """What no row of our method has as we do; of a table of several, what differs between them, too."""
    rows = [row for row in table.rows if row.planner == config.planner]
    ours = options_told(config)
    theirs = {name: [row.options.get(name) for row in rows] for row in rows for name in row.options}
    return {name: ours.get(name) for name, each in theirs.items() if any(value != ours.get(name) for value in each)}


def _by_object(run: Run) -> dict[str, float]:
    """The share solved of the tasks about each object, where tasks name one."""
    endings, counts = recorded_endings(run), dict[str, list[tuple[int, int]]]()
    for entry in run.entries():
        ending = endings.get(entry.index)
        about = str(entry.task.params.get(OBJECT, ""))
        counts.setdefault(about, []).append((ending is not None and ending.outcome.solved, 1))
    return {about: share for about, each in counts.items() if (share := percent(each)) is not None}
