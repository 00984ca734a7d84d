"""What the tables of a report say."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import mean
from typing import Any

from planbook.config import Config, by_dotted_name, chosen_options
from planbook.envs import EnvsError
from planbook.planner import Outcome, Spent
from planbook.report.charts.shares import Share
from planbook.results import Measure, Result, RunResults, overall


@dataclass(frozen=True)
class Row:
    """The results of one task type, or of all; a mean is over the episodes that had ended, None if there were none."""

    name: str
    solved: int
    tasks: int
    mean_actions: float | None
    mean_error_steps: float | None
    cost: Spent
    not_run: int = 0

    @property
    def share(self) -> Share:
        """Solved, of all that were asked for."""
        return Share(self.solved, self.tasks, self.not_run)


def rows(run: RunResults) -> list[Row]:
    """A row for each task type, and the last one for all."""
    summary = run.summary()
    by_type = [
        _row(
            kind,
            *summary.by_type[kind],
            summary.mean_actions_by_type[kind],
            [played for played in run.episodes.values() if played.entry.task.type == kind],
        )
        for kind in summary.by_type
    ]
    return [*by_type, _row("all", summary.solved, summary.tasks, summary.mean_actions, list(run.episodes.values()))]


def _row(name: str, solved: int, tasks: int, mean_actions: float | None, played: Sequence[Result]) -> Row:
    errors = [each.ending.error_steps for each in played if each.ending.outcome is not Outcome.NOT_RUN]
    return Row(
        name,
        solved,
        tasks,
        mean_actions,
        mean(errors) if errors else None,
        sum((each.cost for each in played), Spent()),
        sum(each.ending.outcome is Outcome.NOT_RUN and not each.is_skipped for each in played),
    )


def types(runs: Sequence[RunResults]) -> list[tuple[str, list[Row | None]]]:
    """The rows of several runs side by side; None where a run has no task of the type."""
    tables = [{row.name: row for row in rows(run)} for run in runs]
    names = sorted({name for table in tables for name in table} - {"all"})
    return [(name, [table.get(name) for table in tables]) for name in (*names, "all")]


def measured(runs: Sequence[RunResults]) -> list[tuple[str, list[Measure | str | None]]]:
    """What the worlds of several runs measure, side by side, and the score of what was reached on the way."""
    summaries = [run.summary() for run in runs]
    names = dict.fromkeys(name for each in summaries for figures in each.measures.values() for name in figures)
    found: list[tuple[str, list[Measure | str | None]]] = [
        (name, [overall(each.measures, name) for each in summaries]) for name in names
    ]
    scores = [None if each.unlock_score is None else f"{each.unlock_score:.2f} %" for each in summaries]
    return [*found, ("unlock score", list(scores))] if any(scores) else found


def failures(run: RunResults) -> list[tuple[str, list[Result]]]:
    """The episodes that were not solved, by cause, the most frequent cause first."""
    causes = run.summary().failures
    unsolved = [played for played in run.episodes.values() if not played.ending.outcome.solved]
    return [(cause, [played for played in unsolved if played.ending.cause == cause]) for cause in causes]


def asked(config: Config) -> dict[str, Any]:
    """Return what a run was asked to do, with the options that follow from its environment."""
    told = config.model_dump(mode="json")
    with suppress(EnvsError):
        told["planner_options"] = chosen_options(config, config.world.name)
    return told


def settings(value: Any) -> Iterator[tuple[str, str]]:
    """What a run was asked to do, by dotted name, without what was left empty."""
    return ((name, told) for name, told in by_dotted_name(value) if told)
