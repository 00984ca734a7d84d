"""Statistics over tasks whose sides are swapped, or that are drawn again; by numpy, and the same every time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DRAWS = 2_000
SEED = 20_240
AT_ONCE = 4_000_000
"""Counts that one batch of draws may hold."""
Columns = NDArray[np.float64]


class Estimate(NamedTuple):
    """A figure with its 95 % interval. None stands for what is without bound: a cost for each of no tasks solved."""

    value: float | None
    low: float | None
    high: float | None


def sign_flips(differences: Sequence[int]) -> float:
    """How likely so great a sum would be if every task could as well have had its sides swapped: exact, two-sided.

    The chances of all sums are worked out one task after the other, which gives what trying all ways would. With one
    pair a task it is McNemar's test, exact.
    """
    sizes = [abs(each) for each in differences if each]
    most, observed = sum(sizes), abs(sum(differences))
    chances = np.zeros(2 * most + 1)
    chances[most] = 1.0
    for size in sizes:
        chances = (np.roll(chances, size) + np.roll(chances, -size)) / 2
    distance = np.abs(np.arange(-most, most + 1))
    return min(1.0, float(chances[distance >= observed].sum()))


def drawn_totals(tasks: Columns) -> Columns:
    """The sums of the columns (one row a task), a row for each of many drawings of as many tasks, with repetition."""
    count = len(tasks)
    dice = np.random.default_rng(SEED)
    batch = max(1, AT_ONCE // count)
    sizes = [min(batch, DRAWS - begun) for begun in range(0, DRAWS, batch)]
    return np.concatenate([dice.multinomial(count, np.full(count, 1 / count), size) @ tasks for size in sizes])


def estimate(value: float, draws: Columns) -> Estimate:
    """A figure, and the middle 95 % of what it was in the draws; those in which it is no number do not count."""
    known = draws[~np.isnan(draws)]
    bounds = np.percentile(known, (2.5, 97.5), method="nearest") if len(known) else (np.nan, np.nan)
    return Estimate(*(round(float(each), 6) if np.isfinite(each) else None for each in (value, *bounds)))


def ratio(above: Columns, below: Columns) -> Columns:
    """One by the other: without bound, or no number, where the other is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return above / below
