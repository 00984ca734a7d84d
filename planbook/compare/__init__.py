"""Compare two runs over pairs of episodes that have the same task, seed and repeat.

The comparison uses only the runs' tables of results.

- ``settings`` finds differences between runs in settings, inputs and versions.
- ``differences`` computes and tests the differences between two runs in success, measures and costs.
- ``rendering`` turns comparisons into tables and sentences.
- ``groups`` makes a table with a row for each run, or for each group of runs.
- ``effects`` estimates the effect of each rule and skill from runs without it.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel

from planbook.compare.differences import (
    CostDifference,
    Difference,
    Pair,
    SolvedDifference,
    cost_differences,
    gain,
    measure_differences,
    solved_difference,
    with_corrected_p,
)
from planbook.compare.settings import (
    SEEDS,
    TASK_SELECTION,
    SettingDifference,
    differing_names,
    differing_settings,
)
from planbook.errors import BadArgument
from planbook.planner import Outcome
from planbook.results import COSTS_MISSING, RunResults, payoff_of
from planbook.results.learning_cost import LearningPayoff
from planbook.results.rows import EpisodeResult


class Side(BaseModel):
    """The results of one of the two runs, over its episodes in the pairs."""

    run: str
    solved: int
    broken: int
    not_run: int
    """``broken`` and ``not_run`` count the episodes that broke or were not run. They count as not solved."""
    paying: LearningPayoff | None = None
    """The cost per solved task, without and with learning, or None if the cost of learning is not known."""


class ChangedPair(BaseModel):
    """A pair of episodes of which only one solved the task. ``cause`` is the cause of the other's failure."""

    task: str
    repeat: int
    change: Literal["gained", "lost"]
    cause: str


class RunComparison(BaseModel):
    """The comparison of two runs.

    ``only_first`` and ``only_second`` name the episodes that the other run does not have. They are not counted.
    """

    first: Side
    second: Side
    settings: tuple[SettingDifference, ...]
    """The settings, inputs and versions that differ between the runs."""
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    overall: SolvedDifference
    """The difference over all pairs."""
    played: SolvedDifference | None
    """The difference over the pairs that both runs played. None if both played all pairs, or none."""
    by_type: dict[str, SolvedDifference]
    measures: dict[str, Difference]
    """Maps each measure of the environment to its difference over the pairs that both runs played."""
    changed: tuple[ChangedPair, ...]
    costs: dict[str, CostDifference]
    """Maps each kind of cost, such as tokens, to its amount per solved task."""
    warnings: tuple[str, ...]


def compare(first: RunResults, second: RunResults) -> RunComparison:
    """Compare two runs over their common tasks.

    Raises BadArgument if they have no task in common, or if one run has two episodes with the same task and repeat.
    """
    first_rows, second_rows = _rows_by_key(first), _rows_by_key(second)
    pairs = [(row, second_rows[key]) for key, row in first_rows.items() if key in second_rows]
    if not pairs:
        raise BadArgument(
            f"{first.name} and {second.name} have no task in common; play the same tasks and seeds of the same "
            "environment in both"
        )
    both_played = [pair for pair in pairs if all(side.outcome.played for side in pair)]
    overall = solved_difference(pairs)
    sides = _side(first, [row for row, _ in pairs]), _side(second, [row for _, row in pairs])
    # settings that select tasks may differ, because only common tasks are compared
    same_settings = not differing_names((first, second), (*SEEDS, *TASK_SELECTION), knowledge=False)
    return RunComparison(
        first=_with_break_even(*sides) if same_settings and not first.is_building_run else sides[0],
        second=_with_break_even(*reversed(sides)) if same_settings and not second.is_building_run else sides[1],
        settings=differing_settings(first, second),
        only_first=tuple(row.name for key, row in first_rows.items() if key not in second_rows),
        only_second=tuple(row.name for key, row in second_rows.items() if key not in first_rows),
        overall=overall,
        played=solved_difference(both_played) if 0 < len(both_played) < len(pairs) else None,
        by_type=_differences_by_type(pairs),
        measures=measure_differences(both_played),
        changed=tuple(_changed_pairs(pairs)),
        costs=cost_differences(pairs),
        warnings=tuple(warnings(first, second)),
    )


def compare_all(runs: Sequence[RunResults]) -> tuple[RunComparison, ...]:
    """Compare the first run with each of the others. Raises BadArgument in the same cases as ``compare``."""
    return with_corrections([compare(runs[0], other) for other in runs[1:]])


def with_corrections(comparisons: Sequence[RunComparison]) -> tuple[RunComparison, ...]:
    """Return the comparisons of one run with others, with p values corrected for the number of tests.

    The p values of whole runs and of measures are corrected over all comparisons. Those of task types do not change:
    ``compare`` has already corrected them over the types.
    """
    overall = with_corrected_p({c.second.run: c.overall for c in comparisons})
    played = with_corrected_p({c.second.run: c.played or c.overall for c in comparisons})
    measures = with_corrected_p({(n, name): row for n, c in enumerate(comparisons) for name, row in c.measures.items()})
    return tuple(
        comparison.model_copy(
            update={
                "overall": overall[comparison.second.run],
                "played": played[comparison.second.run] if comparison.played else None,
                "measures": {name: measures[n, name] for name in comparison.measures},
            }
        )
        for n, comparison in enumerate(comparisons)
    )


def _rows_by_key(run: RunResults) -> dict[tuple[str, str, int, int], EpisodeResult]:
    rows: dict[tuple[str, str, int, int], EpisodeResult] = {}
    for row in run.counted_rows:
        task = row.entry.task
        if rows.setdefault((task.env, task.id, task.seed, row.repeat), row) is not row:
            raise BadArgument(
                f"{run.name} has two episodes of {row.name}, from different runs; import or copy the episodes of each "
                "run into a separate folder, and compare those"
            )
    return rows


def _differences_by_type(pairs: Sequence[Pair]) -> dict[str, SolvedDifference]:
    types = sorted({row.type for row, _ in pairs})
    of_type = {task_type: [pair for pair in pairs if pair[0].type == task_type] for task_type in types}
    return with_corrected_p({task_type: solved_difference(group) for task_type, group in of_type.items()})


def _side(run: RunResults, rows: Sequence[EpisodeResult]) -> Side:
    outcomes = [row.outcome for row in rows]
    solved = sum(outcome.solved for outcome in outcomes)
    broken, not_run = outcomes.count(Outcome.BROKEN), outcomes.count(Outcome.NOT_RUN)
    return Side(run=run.name, solved=solved, broken=broken, not_run=not_run, paying=payoff_of([run], rows))


def _with_break_even(side: Side, other: Side) -> Side:
    """Return ``side`` with its break-even point if only this side uses learned knowledge."""
    if not (side.paying and other.paying):
        return side
    return side.model_copy(update={"paying": side.paying.compared_with(other.run, other.paying)})


def _changed_pairs(pairs: Iterable[Pair]) -> Iterable[ChangedPair]:
    for first, second in pairs:
        if gain((first, second)):
            unsolved = first if second.solved else second
            yield ChangedPair(
                task=first.entry.task.id,
                repeat=first.repeat,
                change="gained" if second.solved else "lost",
                cause=unsolved.ending.cause,
            )


def warnings(first: RunResults, second: RunResults) -> Iterable[str]:
    """Yield the reasons for caution in reading the comparison."""
    for run in (first, second):
        if run.is_building_run:
            yield (
                f"{run.name} is a run of `planbook build`: its later tasks were played with knowledge from the earlier "
                "ones, so they are not independent."
            )
        if run.without_costs:
            yield f"{run.name}: {COSTS_MISSING.format(run.without_costs)}."
        if faults := run.contradictions():
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            yield f"{run.name} contradicts itself: {faults[0]}{more}"
