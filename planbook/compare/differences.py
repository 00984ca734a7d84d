"""Compute the differences between two runs in success, measures and costs, over pairs of episodes.

A pair consists of an episode of each run, with the same task and repeat.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from pydantic import BaseModel

from planbook.results.rows import EpisodeResult
from planbook.results.statistics import (
    Estimate,
    Fractions,
    holm,
    mcnemar,
    paired_difference,
    paired_t,
    positive_ratio,
    ratio,
    ratio_difference,
    sign_flip_test,
    unvaried_difference,
)

MCNEMAR, SIGN_FLIPS = "McNemar, exact", "sign flips over tasks, exact"
BONETT_PRICE, OVER_TASKS = "Bonett and Price", "over tasks, each with its repeats"
SIGNIFICANCE = 0.05
"""A difference is statistically significant if its p value is below this."""
SCORE = "score"
"""Name of the environment's score, from 0 to 1, among the measures. The score is compared only if it adds information:
if it is sometimes between 0 and 1, and no other measure always equals it."""
COSTS: Mapping[str, Callable[[EpisodeResult], float]] = {
    "model calls": lambda row: row.spent.calls,
    "tokens": lambda row: row.spent.tokens,
    "US dollars": lambda row: float("nan") if row.spent.money is None else row.spent.money,
    "actions": lambda row: row.spent.actions,
}
"""Maps the displayed name of a cost to the function that computes it for an episode. An unknown cost is NaN."""
Pair = tuple[EpisodeResult, EpisodeResult]
"""An episode of the first run, and the episode of the second run with the same task and repeat."""


class Difference(BaseModel):
    """The difference in a measure, second run minus first, over the pairs in which both episodes have the measure.

    ``first`` and ``second`` are the means of the two runs. The interval (from ``low`` to ``high``) and ``p`` are from
    the same t test, so they always agree. Each task enters the test as the mean over its repeats. If there are several
    tests, ``p_corrected`` is the p value corrected by Holm's method. It may disagree with the interval, which is not
    corrected. The interval and both p values are None if there is only one task, or if the measure changes by the same
    amount (but not 0) in all tasks.
    """

    tasks: int
    pairs: int
    first: int | float
    second: int | float
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None

    @property
    def is_tested(self) -> bool:
        """True if the interval is known and wider than zero, so that a test is possible."""
        return self.low is not None and self.low != self.high

    @property
    def is_significant(self) -> bool:
        """True if chance alone would rarely produce so large a difference."""
        return self.p_corrected is not None and self.p_corrected < SIGNIFICANCE


class SolvedDifference(Difference):
    """The difference in solved tasks over pairs, second run minus first. Its interval and p value are never None.

    ``first`` and ``second`` count the episodes of the pairs that each run solved. ``difference`` and its interval are
    fractions of the number of pairs. ``interval`` and ``test`` name the statistical methods. Repeats of a task are not
    independent, so the interval and the test treat them as one unit.
    """

    gained: int
    lost: int
    low: float
    high: float
    interval: str
    p: float
    test: str
    p_corrected: float

    @property
    def net_gain(self) -> int:
        """Number of pairs gained, minus the number lost."""
        return self.gained - self.lost


Key = TypeVar("Key")
AnyDifference = TypeVar("AnyDifference", bound=Difference)


class CostDifference(BaseModel):
    """A cost per solved task, over the same tasks: in the first run, in the second run, and second minus first.

    The cost of unsolved tasks is included. A value is None if no task was solved, or if a price is unknown. The
    intervals of the two costs are computed for their logarithms, so they cannot go below 0.
    """

    first: Estimate
    second: Estimate
    difference: Estimate


def solved_difference(pairs: Sequence[Pair]) -> SolvedDifference:
    """Return the difference in solved tasks, with its interval and p value."""
    tasks = _group_by_task(pairs)
    gained = sum(gain(pair) == 1 for pair in pairs)
    lost = sum(gain(pair) == -1 for pair in pairs)
    p = mcnemar(gained, lost)
    low, high = paired_difference(gained, lost, len(pairs))
    has_repeats = len(tasks) < len(pairs)
    if has_repeats:
        p = sign_flip_test([sum(map(gain, repeats)) for repeats in tasks])
        low, high = _interval_over_tasks(tasks)
    return SolvedDifference(
        tasks=len(tasks),
        pairs=len(pairs),
        first=sum(first.solved for first, _ in pairs),
        second=sum(second.solved for _, second in pairs),
        gained=gained,
        lost=lost,
        difference=(gained - lost) / len(pairs),
        low=low,
        high=high,
        interval=OVER_TASKS if has_repeats else BONETT_PRICE,
        p=p,
        test=SIGN_FLIPS if has_repeats else MCNEMAR,
        p_corrected=p,
    )


def with_corrected_p(differences: Mapping[Key, AnyDifference]) -> dict[Key, AnyDifference]:
    """Return the differences with p values corrected by Holm's method. Tests that are not possible do not count."""
    tested = {key: row.p for key, row in differences.items() if row.is_tested and row.p is not None}
    p = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {key: row.model_copy(update={"p_corrected": p.get(key, row.p)}) for key, row in differences.items()}


def gain(pair: Pair) -> int:
    """Return 1 if only the second run solved the task, -1 if only the first run did, and 0 otherwise."""
    return pair[1].solved - pair[0].solved


def format_points(difference: float, low: float, high: float) -> tuple[str, str]:
    """Format a difference of shares and its interval, in percentage points."""
    return f"{100 * difference:+.1f}", f"{100 * low:.1f} to {100 * high:.1f}"


def _interval_over_tasks(tasks: Sequence[Sequence[Pair]]) -> tuple[float, float]:
    changes = [fmean(map(gain, pairs)) for pairs in tasks]
    if len({*changes}) == 1:
        return unvaried_difference(changes)
    _, low, high = ratio([(sum(map(gain, pairs)), len(pairs)) for pairs in tasks])
    return -1.0 if low is None else max(-1.0, low), 1.0 if high is None else min(1.0, high)


def _group_by_task(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Group the pairs by task. A task has a pair for each of its repeats."""
    pairs_of = defaultdict[tuple[str, int], list[Pair]](list)
    for pair in pairs:
        task = pair[0].entry.task
        pairs_of[task.id, task.seed].append(pair)
    return list(pairs_of.values())


def measure_differences(pairs: Sequence[Pair]) -> dict[str, Difference]:
    """Compare the measures of an environment over pairs of played episodes.

    Return a dict that maps each measure to its difference over those pairs in which both episodes have the measure.
    """
    differences = {}
    for name in dict.fromkeys(name for pair in pairs for side in pair for name in _measures_of(side)):
        measured = [pair for pair in pairs if all(name in _measures_of(side) for side in pair)]
        if measured and (name != SCORE or _is_informative(pairs)):
            differences[name] = _measure_difference(name, measured)
    return with_corrected_p(differences)


def _measures_of(row: EpisodeResult) -> dict[str, float]:
    return {SCORE: row.ending.verdict.score, **row.ending.measures}


def _is_informative(pairs: Sequence[Pair]) -> bool:
    """Return True if some scores are between 0 and 1, and no measure always equals the score."""
    rows = [_measures_of(side) for pair in pairs for side in pair]
    others = {name for row in rows for name in row} - {SCORE}
    equals_a_measure = any(all(row.get(name) == row[SCORE] for row in rows) for name in others)
    return any(0 < row[SCORE] < 1 for row in rows) and not equals_a_measure


def _measure_difference(name: str, pairs: Sequence[Pair]) -> Difference:
    def mean(sides: Iterable[EpisodeResult]) -> float:
        return fmean(_measures_of(side)[name] for side in sides)

    changes = [
        mean(second for _, second in group) - mean(first for first, _ in group) for group in _group_by_task(pairs)
    ]
    low, high, p = paired_t(changes)
    return Difference(
        tasks=len(changes),
        pairs=len(pairs),
        first=mean(first for first, _ in pairs),
        second=mean(second for _, second in pairs),
        difference=fmean(changes),
        low=low,
        high=high,
        p=p,
        p_corrected=p,
    )


def cost_differences(pairs: Sequence[Pair]) -> dict[str, CostDifference]:
    """Compare the costs per solved task. Return a dict that maps the name of each cost to its difference.

    A cost that neither run incurred is left out.
    """
    return {
        name: _cost_difference(pairs, cost)
        for name, cost in COSTS.items()
        if any(cost(side) != 0 for pair in pairs for side in pair)
    }


def _cost_difference(pairs: Sequence[Pair], cost: Callable[[EpisodeResult], float]) -> CostDifference:
    def fractions(side: int) -> Fractions:
        """Return, for each task, the total cost of its repeats in one run, and the number of solved repeats."""
        tasks = [[pair[side] for pair in group] for group in _group_by_task(pairs)]
        return [(sum(map(cost, rows)), sum(row.solved for row in rows)) for rows in tasks]

    first, second = fractions(0), fractions(1)
    return CostDifference(
        first=positive_ratio(first), second=positive_ratio(second), difference=ratio_difference(first, second)
    )
