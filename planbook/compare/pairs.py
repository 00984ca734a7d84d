"""Comparison of two runs: pairs of the same tasks with the same seeds, and warnings to the reader."""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel

from planbook.compare.differences import (
    KNOWLEDGE,
    SEEDS,
    SELECTED,
    CostDifference,
    MeasureDifference,
    Pair,
    SettingDifference,
    SolvedDifference,
    corrected,
    cost_differences,
    differing_settings,
    gain,
    measure_differences,
    settings_without,
    solved_difference,
)
from planbook.errors import BadArgument
from planbook.planner import Outcome
from planbook.results.learning_cost import LearningPayoff
from planbook.results.rows import Result
from planbook.results.summary import solved_interval
from planbook.results.table import RunResults
from planbook.wording import counted


class Side(BaseModel):
    """One of the two runs; counts are over the pairs."""

    run: str
    solved: int
    low: float
    high: float
    """The interval of the share solved."""
    broken: int
    not_run: int
    """Broken and not run episodes count as not solved."""
    paying: LearningPayoff | None = None
    """The cost of a solved task with learning included; None if the cost of learning is not known."""


class ChangedPair(BaseModel):
    """A pair that only one run solved; ``cause`` is why the other did not."""

    task: str
    repeat: int
    type: str
    change: Literal["gained", "lost"]
    cause: str
    unplayed: bool
    """True if the other episode was broken or not run, so the pair says nothing about the method."""


class RunComparison(BaseModel):
    """Two runs. ``only_first`` and ``only_second`` name episodes without a partner, which no figure includes."""

    first: Side
    second: Side
    settings: tuple[SettingDifference, ...]
    """Settings and versions in which the runs differ."""
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    left_out: tuple[int, int]
    """Building tasks that were left out on purpose."""
    overall: SolvedDifference
    played: SolvedDifference | None
    """The difference over pairs of played episodes; None if all pairs were played, or none was."""
    by_type: dict[str, SolvedDifference]
    measures: dict[str, MeasureDifference]
    """By measure of the environment, the difference over pairs of played episodes."""
    changed: tuple[ChangedPair, ...]
    costs: dict[str, CostDifference]
    """By name of the cost, the cost per solved task over the pairs."""
    warnings: tuple[str, ...]


def compare(first: RunResults, second: RunResults) -> RunComparison:
    """Compare two runs.

    Raises BadArgument if they have no task in common, or if one has two episodes of the same task and repeat.
    """
    _check_environments(first, second)
    first_rows, second_rows = _by_key(first), _by_key(second)
    pairs = [(row, second_rows[key]) for key, row in first_rows.items() if key in second_rows]
    if not pairs:
        raise BadArgument(
            f"{first.name} ({_describe(first)}) and {second.name} ({_describe(second)}) have no task in common; "
            "play the same tasks and seeds in both"
        )
    both_played = [pair for pair in pairs if all(side.outcome.played for side in pair)]
    overall = solved_difference(pairs)
    sides = _side(first, [one for one, _ in pairs]), _side(second, [other for _, other in pairs])
    alike = (
        len(settings_without((first, second), (*SEEDS, *KNOWLEDGE, *SELECTED))) == 1
    )  # the pairs have the same tasks
    return RunComparison(
        first=_with_break_even(*sides) if alike and not first.builds else sides[0],
        second=_with_break_even(*reversed(sides)) if alike and not second.builds else sides[1],
        settings=differing_settings(first, second),
        only_first=tuple(row.name for key, row in first_rows.items() if key not in second_rows),
        only_second=tuple(row.name for key, row in second_rows.items() if key not in first_rows),
        left_out=(first.skipped, second.skipped),
        overall=overall,
        played=solved_difference(both_played) if 0 < len(both_played) < len(pairs) else None,
        by_type=_by_type(pairs),
        measures=measure_differences(both_played),
        changed=tuple(_changed(pairs)),
        costs=cost_differences(pairs),
        warnings=tuple(warnings(first, second)),
    )


def compare_all(runs: Sequence[RunResults]) -> tuple[RunComparison, ...]:
    """Compare the first run with each of the others.

    The p values of whole runs and of measures are corrected over all comparisons, those by task type within each.
    """
    comparisons = [compare(runs[0], other) for other in runs[1:]]
    overall = corrected({comparison.second.run: comparison.overall for comparison in comparisons})
    played = corrected({each.second.run: each.played or each.overall for each in comparisons})
    measures = corrected({(n, name): it for n, each in enumerate(comparisons) for name, it in each.measures.items()})
    return tuple(
        each.model_copy(
            update={
                "overall": overall[each.second.run],
                "played": played[each.second.run] if each.played else None,
                "measures": {name: measures[number, name] for name in each.measures},
            }
        )
        for number, each in enumerate(comparisons)
    )


def _check_environments(first: RunResults, second: RunResults) -> None:
    if first.environments and second.environments and not first.environments & second.environments:
        one, other = (", ".join(sorted(run.environments)) for run in (first, second))
        raise BadArgument(
            f"{first.name} plays {one} and {second.name} plays {other}; "
            "only runs of the same environment can be compared"
        )


def _describe(run: RunResults) -> str:
    return f"{counted(len(run.counted), 'episode')}, the first {run.counted[0].name}" if run.counted else "no episodes"


def _by_key(run: RunResults) -> dict[tuple[str, str, int, int], Result]:
    rows: dict[tuple[str, str, int, int], Result] = {}
    for row in run.counted:
        task = row.entry.task
        if rows.setdefault((task.env, task.id, task.seed, row.repeat), row) is not row:
            raise BadArgument(
                f"{run.name} has two episodes of {row.name}, from different runs; import or copy the episodes of each "
                "run into a folder of its own, and compare those"
            )
    return rows


def _by_type(pairs: Sequence[Pair]) -> dict[str, SolvedDifference]:
    types = sorted({one.type for one, _ in pairs})
    of_type = {kind: [pair for pair in pairs if pair[0].type == kind] for kind in types}
    return corrected({kind: solved_difference(group) for kind, group in of_type.items()})


def _side(run: RunResults, rows: Sequence[Result]) -> Side:
    outcomes = [row.outcome for row in rows]
    solved = sum(outcome.solved for outcome in outcomes)
    low, high = solved_interval(rows)
    broken, not_run = outcomes.count(Outcome.BROKEN), outcomes.count(Outcome.NOT_RUN)
    paying = run.paying(rows)
    return Side(run=run.name, solved=solved, low=low, high=high, broken=broken, not_run=not_run, paying=paying)


def _with_break_even(side: Side, other: Side) -> Side:
    """Return the side, with the break-even point of its learning if only this side learned."""
    if not (side.paying and other.paying):
        return side
    return side.model_copy(update={"paying": side.paying.compared_with(other.run, other.paying)})


def _changed(pairs: Iterable[Pair]) -> Iterable[ChangedPair]:
    for one, other in pairs:
        if gain((one, other)):
            unsolved = one if other.solved else other
            yield ChangedPair(
                task=one.entry.task.id,
                repeat=one.repeat,
                type=one.type,
                change="gained" if other.solved else "lost",
                cause=unsolved.ending.cause,
                unplayed=not unsolved.outcome.played,
            )


def warnings(first: RunResults, second: RunResults) -> Iterable[str]:
    """Yield sentences about what limits the comparison."""
    one, two = first.run.config.seed, second.run.config.seed
    if one != two:
        yield (
            f"The runs have different seeds (--seed {one} and {two}): tasks are paired by their own seeds, but plans "
            "and the models that take a seed had different random numbers."
        )
    for run in (first, second):
        if run.builds:
            yield (
                f"{run.name} is a building run: its later tasks were played with knowledge from the earlier ones, so "
                "they are not independent."
            )
        if run.run.config.copies:
            yield f"{run.name} copied its episodes: the runs they come from paid their costs."
        if faults := run.contradictions():
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            yield f"{run.name} contradicts itself: {faults[0]}{more}"
