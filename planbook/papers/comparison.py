"""A test run held beside the paper's tables."""

from pydantic import BaseModel, ConfigDict

from planbook.config import Config
from planbook.figures.statistics import percent
from planbook.figures.summary import Summary
from planbook.papers.differences import Difference, differences
from planbook.papers.figures import Figures, Paper, Row, automanual
from planbook.papers.ours import OurFigures
from planbook.papers.played import Played, played

ABLATIONS = "ablations"
ABLATED_PLANNER = "automanual"


class Ours(OurFigures):
    """Our row beside AutoManual's."""

    error_steps: float | None
    without: tuple[str, ...]
    start: tuple[str, ...]
    learnt: bool
    """Whether it knew anything beyond the starting examples."""


class Beside(BaseModel):
    """A table of the paper, and our figure for what it is over; None where the run played nothing of it.

    ``types`` is how many task types it is over, of which the run played ``types_played``. Of a table of ablations
    ``ours_at`` is the number of the rows that leave out what the run left out.
    """

    model_config = ConfigDict(frozen=True)

    figures: Figures
    ours: float | None
    types: int
    types_played: int
    ours_at: tuple[int, ...] = ()


class Comparison(BaseModel):
    """The field ``table`` of ``planbook test --table --json``."""

    model_config = ConfigDict(frozen=True)

    paper: str
    ours: Ours
    differs: tuple[Difference, ...]
    only_quoted: tuple[str, ...]
    """Methods whose figures are the paper's alone: they cannot be played here."""
    tables: tuple[Beside, ...]


def compare(config: Config, summary: Summary) -> Comparison | None:
    """Hold a test run beside the paper; None for a world that is not in it. Raises BadRun, BadKnowledge."""
    paper, name = automanual(), config.world.name
    if name not in paper.settings:
        return None
    test, figures = played(config, summary), paper.of(name)
    tables = tuple(_beside(each, paper, test) for each in figures)
    about = max(tables, key=lambda each: (each.ours is not None, each.types))
    quoted = {row.method: None for each in figures for row in each.rows if row.only_quoted}
    return Comparison(
        paper=paper.paper,
        ours=_our_row(test),
        differs=differences(test, paper, about.figures.split, about.types),
        only_quoted=tuple(quoted),
        tables=tables,
    )


def _beside(figures: Figures, paper: Paper, test: Played) -> Beside:
    over = _types(figures, paper, test)
    return Beside(
        figures=figures,
        ours=_ours(figures, paper, test),
        types=len(over),
        types_played=len(over & set(test.summary.by_type)),
        ours_at=_rows_of(figures, test),
    )


def _our_row(test: Played) -> Ours:
    summary, config = test.summary, test.config
    return Ours(
        planner=config.title,
        models=test.models if test.uses_a_model else (),
        split=config.selection.split or "",
        tasks=test.tasks,
        repeats=summary.repeats,
        overall=percent(summary.by_type.values()) or 0.0,
        spread=None if summary.spread is None else round(100 * summary.spread, 1),
        by_type={kind: share for kind, each in summary.by_type.items() if (share := percent([each])) is not None},
        error_steps=summary.mean_error_steps,
        without=test.without,
        start=test.start,
        learnt=test.learnt,
    )


def _types(figures: Figures, paper: Paper, test: Played) -> frozenset[str]:
    """The task types that a table is over: those that it, or another one about the split, gives by itself."""
    alike = [each for each in paper.of(figures.env) if each.split == figures.split]
    return frozenset(kind for each in alike for row in each.rows for kind in row.by_type) or frozenset(
        test.config.world.types
    )


def _ours(figures: Figures, paper: Paper, test: Played) -> float | None:
    """Our figure for what a table is over: its types that were played; None if one about fewer has them all."""
    over, seen = _types(figures, paper, test), set(test.summary.by_type)
    others = (_types(each, paper, test) for each in paper.of(figures.env))
    if any(other < over and seen <= other for other in others):
        return None
    return percent(each for kind, each in test.summary.by_type.items() if kind in over)


def _rows_of(figures: Figures, test: Played) -> tuple[int, ...]:
    if figures.what != ABLATIONS or test.config.planner != ABLATED_PLANNER or not test.learnt:
        return ()
    return tuple(number for number, row in enumerate(figures.rows) if leaves_out_the_same(row, test))


def leaves_out_the_same(row: Row, test: Played) -> bool:
    """Whether a row of ablations is about what the run did."""
    return row.without == test.without and row.start in ((), test.start)
