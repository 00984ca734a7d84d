"""A run held beside the tables of papers (``published.py``)."""

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook.config import Config
from planbook.papers.columns import COLUMNS, measured, spreads
from planbook.papers.played import Played, played
from planbook.papers.published import ALL, Publication, Published, Setting, papers_of
from planbook.papers.unlike import Difference, unlike
from planbook.results import Summary
from planbook.results.statistics import percent, wilson


class Held(BaseModel):
    """Base of what ``--table --json`` tells."""

    model_config = ConfigDict(frozen=True)


class OurRow(Held):
    """In percent of all tasks that were asked for; ``spread`` is the standard deviation over the repeats.

    ``k_max`` is a mean by task type. ``learnt`` says whether the run knew anything beyond its starting examples
    (``start``), None where no paper beside it is about learning.
    """

    planner: str
    models: tuple[str, ...]
    split: str
    tasks: int
    repeats: int
    overall: float
    interval: tuple[float, float]
    """The Wilson interval of the overall share, over all episodes."""
    spread: float | None
    by_type: dict[str, float]
    error_steps: float | None
    k_max: dict[str, float | None]
    without: tuple[str, ...]
    start: tuple[str, ...]
    learnt: bool | None


class BesideTable(Held):
    """A table, and our figures for its columns; of what the run did not play there are none.

    ``spread`` has the standard deviations of those that are means. The column ``all`` is over so many task ``types`` (0
    where they are not told), of which ``types_played`` were played. ``otherwise`` has the options of our planner that
    rows of the same method have otherwise, ``alike`` the numbers of those that have none otherwise.
    """

    table: Published
    ours: dict[str, float]
    spread: dict[str, float]
    types: int
    types_played: int
    otherwise: dict[str, JsonValue]
    alike: tuple[int, ...]


class BesidePaper(Held):
    """The tables of a paper that are about what the run is; ``names`` are its own names of task types."""

    paper: str
    names: dict[str, str]
    differs: tuple[Difference, ...]
    only_quoted: tuple[str, ...]
    """Methods whose figures are the paper's alone: they cannot be played here."""
    tables: tuple[BesideTable, ...]


class Beside(Held):
    """The field ``table`` of ``--table --json``: our row, and each paper that it stands beside."""

    ours: OurRow
    papers: tuple[BesidePaper, ...]


def beside(config: Config, summary: Summary) -> Beside | None:
    """Hold a run beside the papers of its method and world; None where no paper has the world.

    Raises BadRun, BadKnowledge.
    """
    env = config.world.name
    papers = papers_of(config.planner, env)
    if not papers:
        return None
    learning = any(setting.building for paper in papers for setting in paper.settings_of(env))
    run = played(config, summary, learning=learning)
    return Beside(ours=_our_row(run), papers=tuple(_paper(paper, run) for paper in papers))


def _our_row(run: Played) -> OurRow:
    summary = run.summary
    return OurRow(
        planner=run.config.title,
        models=run.models,
        split=run.split,
        tasks=run.tasks,
        repeats=summary.repeats,
        overall=percent(summary.by_type.values()) or 0.0,
        interval=tuple(round(100 * end, 1) for end in wilson(summary.solved, run.tasks * summary.repeats)),
        spread=None if summary.spread is None else round(100 * summary.spread, 1),
        by_type=_by_type(run),
        error_steps=summary.mean_error_steps,
        k_max=getattr(summary.methods.get("subtasks"), "k_max_by_type", {}),
        without=run.without,
        start=run.start,
        learnt=run.origin.learnt if run.origin else None,
    )


def _by_type(run: Played) -> dict[str, float]:
    return {kind: share for kind, each in run.summary.by_type.items() if (share := percent([each])) is not None}


def _paper(paper: Publication, run: Played) -> BesidePaper:
    setting = paper.setting(run.config.world.name, run.split, run.summary.by_type)
    fitting = [table for table in paper.tables if _fits(table, paper, setting, run)]
    quoted = dict.fromkeys(row.method for table in fitting for row in table.rows if row.planner is None)
    return BesidePaper(
        paper=paper.paper,
        names=dict(paper.names),
        differs=unlike(run, paper, setting),
        only_quoted=tuple(quoted),
        tables=tuple(_held(table, paper, setting, run) for table in fitting),
    )


def _fits(table: Published, paper: Publication, setting: Setting, run: Played) -> bool:
    """Whether a table is about what the run is: its world, its method, and its split or types that a split is of."""
    if table.env != setting.env or table.by == "skill":
        return False
    theirs = paper.setting(table.env, table.split)
    return (theirs == setting or bool(theirs.types)) and (table.main or bool(table.of(run.config.planner)))


def _held(table: Published, paper: Publication, setting: Setting, run: Played) -> BesideTable:
    types = _types(table, paper)
    ours = _by_type(run) if table.by == "type" else run.by_object
    figures = {name: ours[name] for name in table.columns if name in ours}
    share = _overall(types, setting, run)
    if ALL in table.columns and share is not None:
        figures[ALL] = share
    rows, options = table.of(run.config.planner), run.options
    theirs = {name: [row.options.get(name) for row in rows.values()] for row in rows.values() for name in row.options}
    return BesideTable(
        table=table,
        ours=figures | measured(table.columns, run),
        spread=spreads(table.columns, run),
        types=len(types),
        types_played=len(types & set(run.summary.by_type)),
        otherwise={
            name: options.get(name) for name, each in theirs.items() if any(v != options.get(name) for v in each)
        },
        alike=tuple(n for n, row in rows.items() if all(options.get(k) == value for k, value in row.options.items())),
    )


def _types(table: Published, paper: Publication) -> frozenset[str]:
    """The task types that a table is over; none where neither the table nor the paper's setting tells them apart."""
    named = {name for name in table.columns if name != ALL and name not in COLUMNS} if table.by == "type" else ()
    return frozenset(paper.setting(table.env, table.split).types or named)


def _overall(types: frozenset[str], setting: Setting, run: Played) -> float | None:
    """Our share of the types that a table is over; None if those of the run's setting are fewer."""
    if setting.types and not types <= set(setting.types):
        return None
    return percent(each for kind, each in run.summary.by_type.items() if not types or kind in types)
