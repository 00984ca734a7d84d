"""Two runs held against each other: the same tasks of the same seeds, pair by pair."""

from collections.abc import Iterable, Sequence
from typing import Literal

from planbook.compare.caveats import warnings
from planbook.compare.costs import Cost, costs, extra_actions
from planbook.compare.difference import Difference, Told, corrected, difference, is_solved, needed
from planbook.compare.gathering import Gathered, Pair, Played
from planbook.compare.measured import MeasureDifference, measured
from planbook.compare.measured import corrected as corrected_measures
from planbook.compare.ratios import Estimate
from planbook.compare.settings import Setting, unlike
from planbook.errors import BadArgument
from planbook.outcomes import UNPLAYED
from planbook.planner import Outcome
from planbook.results.statistics import wilson


class Side(Told):
    """One of the two runs, over the pairs."""

    run: str
    solved: int
    low: float
    high: float
    """Wilson's interval of the share."""
    broken: int
    not_run: int
    """These count as not solved."""


class Changed(Told):
    """A pair of which one side was solved; ``cause`` says why the other was not."""

    task: str
    repeat: int
    type: str
    change: Literal["gained", "lost"]
    cause: str
    unplayed: bool
    """Whether the other side was broken or not run, which says nothing of what played."""


class Compared(Told):
    """Two runs. ``only_first`` and ``only_second`` are episodes without their like in the other: not in any figure."""

    first: Side
    second: Side
    settings: tuple[Setting, ...]
    """What the runs have otherwise."""
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    left_out: tuple[int, int]
    """Building tasks that were left out on purpose."""
    overall: Difference
    played: Difference | None
    """Of the pairs that both were played, if there are others; None as well if there is no such pair."""
    by_type: dict[str, Difference]
    measures: dict[str, MeasureDifference]
    """By what the world measures, over the pairs that both were played."""
    changed: tuple[Changed, ...]
    costs: dict[str, Cost]
    """For each task solved, over the pairs."""
    extra_actions: Estimate
    """How many more the second took, a mean over the pairs that both solved."""
    both_solved: int
    tasks_needed: int | None
    """About how many such tasks would tell such a difference apart, four times of five; None where there is none."""
    warnings: tuple[str, ...]


def compare(first: Gathered, second: Gathered) -> Compared:
    """Hold two runs against each other. Raises BadArgument if they have no task in common."""
    _check_worlds(first, second)
    there, here = _by_key(first), _by_key(second)
    pairs = [(played, here[key]) for key, played in there.items() if key in here]
    if not pairs:
        raise BadArgument(
            f"{first.folder} ({_begins(first)}) and {second.folder} ({_begins(second)}) have no task in common; "
            "play the same tasks and seeds in both"
        )
    both_played = [pair for pair in pairs if not any(side.ending.outcome in UNPLAYED for side in pair)]
    overall = difference(pairs)
    apart = difference(both_played) if 0 < len(both_played) < len(pairs) else None
    both_solved = [pair for pair in pairs if all(map(is_solved, pair))]
    return Compared(
        first=_side(first, [one for one, _ in pairs]),
        second=_side(second, [other for _, other in pairs]),
        settings=unlike(first, second),
        only_first=tuple(played.name for key, played in there.items() if key not in here),
        only_second=tuple(played.name for key, played in here.items() if key not in there),
        left_out=(first.left_out, second.left_out),
        overall=overall,
        played=apart,
        by_type=_by_type(pairs),
        measures=measured(both_played),
        changed=tuple(_changed(pairs)),
        costs=costs(pairs),
        extra_actions=extra_actions(both_solved),
        both_solved=len(both_solved),
        tasks_needed=needed(pairs, overall),
        warnings=tuple(warnings(first, second, pairs)),
    )


def compare_all(runs: Sequence[Gathered]) -> tuple[Compared, ...]:
    """The first run against each other one, the p of each corrected for that there are others."""
    found = [compare(runs[0], other) for other in runs[1:]]
    overall = corrected({each.second.run: each.overall for each in found})
    played = corrected({each.second.run: each.played or each.overall for each in found})
    return tuple(
        each.model_copy(
            update={
                "overall": overall[run],
                "played": played[run] if each.played else None,
                "measures": measures,
            }
        )
        for each, measures in zip(found, _measures(found), strict=True)
        for run in [each.second.run]
    )


def _measures(found: Sequence[Compared]) -> list[dict[str, MeasureDifference]]:
    """Of each comparison, every p corrected for all measures of all of them."""
    every = corrected_measures(
        {(number, name): of for number, each in enumerate(found) for name, of in each.measures.items()}
    )
    return [{name: every[number, name] for name in each.measures} for number, each in enumerate(found)]


def _check_worlds(first: Gathered, second: Gathered) -> None:
    if first.worlds and second.worlds and not first.worlds & second.worlds:
        one, other = (", ".join(sorted(run.worlds)) for run in (first, second))
        raise BadArgument(
            f"{first.folder} plays {one} and {second.folder} plays {other}; only runs of the same world can be compared"
        )


def _begins(run: Gathered) -> str:
    return f"{len(run.episodes)} episodes, the first {run.episodes[0].name}" if run.episodes else "no episodes"


def _by_key(run: Gathered) -> dict[tuple[str, str, int, int], Played]:
    tasks = ((played.entry.task, played) for played in run.episodes)
    return {(task.env, task.id, task.seed, played.entry.repeat): played for task, played in tasks}


def _by_type(pairs: Sequence[Pair]) -> dict[str, Difference]:
    kinds = sorted({one.entry.task.type for one, _ in pairs})
    of_kind = {kind: [pair for pair in pairs if pair[0].entry.task.type == kind] for kind in kinds}
    return corrected({kind: difference(each) for kind, each in of_kind.items()})


def _side(run: Gathered, episodes: Sequence[Played]) -> Side:
    outcomes = [played.ending.outcome for played in episodes]
    solved = sum(outcome.solved for outcome in outcomes)
    low, high = wilson(solved, len(outcomes))
    broken, not_run = outcomes.count(Outcome.BROKEN), outcomes.count(Outcome.NOT_RUN)
    return Side(run=run.folder, solved=solved, low=low, high=high, broken=broken, not_run=not_run)


def _changed(pairs: Iterable[Pair]) -> Iterable[Changed]:
    for one, other in pairs:
        if is_solved(one) != is_solved(other):
            missed = one if is_solved(other) else other
            yield Changed(
                task=one.entry.task.id,
                repeat=one.entry.repeat,
                type=one.entry.task.type,
                change="gained" if is_solved(other) else "lost",
                cause=missed.ending.cause,
                unplayed=missed.ending.outcome in UNPLAYED,
            )
