"""Comparison of two runs: the same tasks of the same seeds, pair by pair, and what a reader must know beforehand."""

from collections.abc import Iterable, Sequence
from typing import Literal

from planbook.compare.differences import (
    Compared,
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
    solved_difference,
)
from planbook.errors import BadArgument
from planbook.planner import Outcome
from planbook.results import Paying, Result, RunResults, solved_interval
from planbook.wording import UNPLAYED


class Side(Compared):
    """One of the two runs, over the pairs."""

    run: str
    solved: int
    low: float
    high: float
    """The interval of the share."""
    broken: int
    not_run: int
    """These count as not solved."""
    paying: Paying | None = None
    """The cost of a solved task with learning included; None if what learning cost is not known."""


class ChangedPair(Compared):
    """A pair of which one side was solved; ``cause`` says why the other was not."""

    task: str
    repeat: int
    type: str
    change: Literal["gained", "lost"]
    cause: str
    unplayed: bool
    """True if the other side was broken or not run, which says nothing about the method."""


class RunComparison(Compared):
    """Two runs. ``only_first`` and ``only_second`` are episodes without a partner: they are in no figure."""

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
    """Of the pairs that both were played, if there are others; None as well if there is no such pair."""
    by_type: dict[str, SolvedDifference]
    measures: dict[str, MeasureDifference]
    """By measure of the environment, over the pairs that both were played."""
    changed: tuple[ChangedPair, ...]
    costs: dict[str, CostDifference]
    """For each task solved, over the pairs."""
    warnings: tuple[str, ...]


def compare(first: RunResults, second: RunResults) -> RunComparison:
    """Compare two runs. Raises BadArgument if they have no task in common."""
    _check_environments(first, second)
    there, here = _by_key(first), _by_key(second)
    pairs = [(row, here[key]) for key, row in there.items() if key in here]
    if not pairs:
        raise BadArgument(
            f"{first.name} ({_begins(first)}) and {second.name} ({_begins(second)}) have no task in common; "
            "play the same tasks and seeds in both"
        )
    both_played = [pair for pair in pairs if not any(side.outcome in UNPLAYED for side in pair)]
    overall = solved_difference(pairs)
    sides = _side(first, [one for one, _ in pairs]), _side(second, [other for _, other in pairs])
    return RunComparison(
        first=_beside(*sides),
        second=_beside(*reversed(sides)),
        settings=differing_settings(first, second),
        only_first=tuple(row.name for key, row in there.items() if key not in here),
        only_second=tuple(row.name for key, row in here.items() if key not in there),
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
    """Compare the first run with each other one; each p is corrected, as there are several."""
    found = [compare(runs[0], other) for other in runs[1:]]
    overall = corrected({each.second.run: each.overall for each in found})
    played = corrected({each.second.run: each.played or each.overall for each in found})
    measures = corrected({(n, name): of for n, each in enumerate(found) for name, of in each.measures.items()})
    return tuple(
        each.model_copy(
            update={
                "overall": overall[each.second.run],
                "played": played[each.second.run] if each.played else None,
                "measures": {name: measures[number, name] for name in each.measures},
            }
        )
        for number, each in enumerate(found)
    )


def _check_environments(first: RunResults, second: RunResults) -> None:
    if first.environments and second.environments and not first.environments & second.environments:
        one, other = (", ".join(sorted(run.environments)) for run in (first, second))
        raise BadArgument(
            f"{first.name} plays {one} and {second.name} plays {other}; "
            "only runs of the same environment can be compared"
        )


def _begins(run: RunResults) -> str:
    return f"{len(run.counted)} episodes, the first {run.counted[0].name}" if run.counted else "no episodes"


def _by_key(run: RunResults) -> dict[tuple[str, str, int, int], Result]:
    return {(row.entry.task.env, row.entry.task.id, row.entry.task.seed, row.repeat): row for row in run.counted}


def _by_type(pairs: Sequence[Pair]) -> dict[str, SolvedDifference]:
    types = sorted({one.type for one, _ in pairs})
    of_type = {kind: [pair for pair in pairs if pair[0].type == kind] for kind in types}
    return corrected({kind: solved_difference(each) for kind, each in of_type.items()})


def _side(run: RunResults, rows: Sequence[Result]) -> Side:
    outcomes = [row.outcome for row in rows]
    solved = sum(outcome.solved for outcome in outcomes)
    low, high = solved_interval(rows)
    broken, not_run = outcomes.count(Outcome.BROKEN), outcomes.count(Outcome.NOT_RUN)
    paying = run.paying(rows)
    return Side(run=run.name, solved=solved, low=low, high=high, broken=broken, not_run=not_run, paying=paying)


def _beside(side: Side, other: Side) -> Side:
    """Return a side with the point at which its learning has paid, if the other learned nothing."""
    if not (side.paying and other.paying) or not side.paying.has_learned or other.paying.has_learned:
        return side
    return side.model_copy(update={"paying": side.paying.compared_with(other.run, other.paying)})


def _changed(pairs: Iterable[Pair]) -> Iterable[ChangedPair]:
    for one, other in pairs:
        if gain((one, other)):
            missed = one if other.solved else other
            yield ChangedPair(
                task=one.entry.task.id,
                repeat=one.repeat,
                type=one.type,
                change="gained" if other.solved else "lost",
                cause=missed.ending.cause,
                unplayed=missed.outcome in UNPLAYED,
            )


def warnings(first: RunResults, second: RunResults) -> Iterable[str]:
    """Yield what a reader must know before believing the comparison, one sentence each."""
    one, two = first.run.config.seed, second.run.config.seed
    if one != two:
        yield (
            f"The runs have other seeds (--seed {one} and {two}): tasks are paired by "
            "their own seeds, but plans had other random numbers, and so had the models that take a seed."
        )
    for run in (first, second):
        if run.builds:
            yield (
                f"{run.name} is a building run: its later tasks were played with what was learned from the earlier "
                "ones, so that they are not independent."
            )
        if run.run.config.copies:
            yield f"{run.name} copied its episodes: their costs were paid by the runs they come from."
        if faults := run.contradictions():
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            yield f"{run.name} contradicts itself: {faults[0]}{more}"
