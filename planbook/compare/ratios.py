"""Ratios of what tasks sum up to, such as tokens for each task solved, with intervals over tasks."""

from collections.abc import Sequence
from math import fsum, isfinite, sqrt
from typing import NamedTuple

from planbook.results.statistics import Z_95

LEAST = 5
"""An interval is told where so many tasks have something below the line, such as a solved one."""


class Estimate(NamedTuple):
    """A figure with its 95 % interval. None where it cannot be told: a cost for each of no tasks solved."""

    value: float | None
    low: float | None
    high: float | None


UNKNOWN = Estimate(None, None, None)
Parts = Sequence[tuple[float, float]]
"""What each task has above and below the line."""


def ratio(parts: Parts) -> Estimate:
    """Return the sum of what is above by the sum of what is below.

    The interval is that of a ratio estimator over tasks that were drawn at random (Cochran, Sampling Techniques, 1977,
    section 6.4).
    """
    return _estimate(_value(parts), _residuals(parts), _tells(parts))


def difference(first: Parts, second: Parts) -> Estimate:
    """Return how much more the second ratio is, over the same tasks in the same order."""
    one, other = _value(first), _value(second)
    residuals = [after - before for before, after in zip(_residuals(first), _residuals(second), strict=True)]
    return _estimate(other - one, residuals, _tells(first) and _tells(second))


def _value(parts: Parts) -> float:
    above, below = (fsum(each) for each in zip(*parts, strict=True))
    return above / below if below else float("nan")


def _residuals(parts: Parts) -> list[float]:
    """By how much each task moves the ratio."""
    value, below = _value(parts), fsum(each for _, each in parts)
    return [(above - value * each) / below if below else float("nan") for above, each in parts]


def _tells(parts: Parts) -> bool:
    return sum(below != 0 for _, below in parts) >= LEAST


def _estimate(value: float, residuals: Sequence[float], tells: bool) -> Estimate:
    if not isfinite(value):
        return UNKNOWN
    if not tells:
        return Estimate(round(value, 6), None, None)
    count = len(residuals)
    reach = Z_95 * sqrt(count / (count - 1) * fsum(each * each for each in residuals))
    return Estimate(round(value, 6), round(value - reach, 6), round(value + reach, 6))
