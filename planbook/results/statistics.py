"""Confidence intervals, significance tests and ratio estimators, in plain Python, without numpy."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import comb, copysign, exp, fsum, isfinite, lgamma, log, log1p, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

Z_95 = 1.959963984540054
FRACTION_TERMS = 200
"""Number of fractions of the continued fraction in ``_incomplete_beta``. It converges much earlier."""


def wilson(successes: float, total: float) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of the share ``successes / total``. If ``total`` is 0, return (0, 1)."""
    if total == 0:
        return 0.0, 1.0
    share, z = successes / total, Z_95
    centre = share + z * z / (2 * total)
    margin = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale)


def wilson_over(tasks: Iterable[Sequence[bool]]) -> tuple[float, float]:
    """Return the 95 % interval of the share of True values. ``tasks`` holds, for each task, a value for each repeat.

    Repeats of a task are correlated, so they count less than independent episodes: the number of episodes is divided by
    the design effect, which is the variance over tasks, divided by the variance that independent episodes would have
    (Kish, Survey Sampling, 1965). If all episodes have the same outcome, there is no variance, and each task counts as
    one case. Without repeats, the result is Wilson's interval.
    """
    groups = [repeats for repeats in tasks if repeats]
    total, solved = sum(map(len, groups)), sum(map(sum, groups))
    max_effect = total / len(groups) if groups else 1.0
    effect = max_effect
    if 0 < solved < total and len(groups) > 1:
        share = solved / total
        squares = fsum((sum(repeats) - share * len(repeats)) ** 2 for repeats in groups)
        effect = len(groups) / (len(groups) - 1) * squares / (total * share * (1 - share))
    effect = min(max(effect, 1.0), max_effect)
    return wilson(solved / effect, total / effect)


def percent(solved: Sequence[bool]) -> float | None:
    """Return the percentage of episodes that were solved, or None if there are no episodes."""
    return round(100 * sum(solved) / len(solved), 1) if solved else None


def per_solved(amount: float | None, solved: int) -> float | None:
    """Return an amount divided by the number of solved tasks, or None if it is unknown or no task was solved."""
    return round(amount / solved, 6) if solved and amount is not None else None


def paired_difference(gained: int, lost: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of the difference between two paired shares (Bonett and Price, 2012).

    Each of ``total`` cases was tried twice: ``gained`` of them succeeded only the second time, and ``lost`` only the
    first time. If there are no cases, the interval is (-1, 1).
    """
    if total == 0:
        return -1.0, 1.0
    up, down = (gained + 1) / (total + 2), (lost + 1) / (total + 2)
    margin = Z_95 * sqrt((up + down - (up - down) ** 2) / (total + 2))
    return max(-1.0, up - down - margin), min(1.0, up - down + margin)


def unvaried_difference(changes: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a mean change that is the same in every task.

    Without variance, the changes give no interval, so the method for two paired shares is used.
    """
    net = round(fsum(changes))
    return paired_difference(max(net, 0), max(-net, 0), len(changes))


def mcnemar(gained: int, lost: int) -> float:
    """Return McNemar's exact p value. ``gained`` cases succeeded only the second time, and ``lost`` only the first.

    It is the chance of a split at least as uneven if both kinds of cases are equally likely.
    """
    differing = gained + lost
    tail = sum(comb(differing, count) for count in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / (1 << differing))


def sign_flip_test(differences: Sequence[int]) -> float:
    """Return the exact two-sided p value of the sum of differences between two runs, one difference per task.

    It is the chance of a sum at least as far from 0 if the runs are swapped at random in each task. With one pair of
    episodes per task, this is McNemar's exact test. Differences of 0 do not change the p value.
    """
    changes = [difference for difference in differences if difference]
    return min(1.0, 2 * min(permutation_tails([(change, -change) for change in changes])))


def t_cdf(t: float, dof: int) -> float:
    """Return the chance of a value below ``t`` in Student's t distribution with ``dof`` degrees of freedom."""
    if t * t < dof:  # near 0, rounding would lose the tail, but not the part between 0 and t
        return 0.5 + copysign(_incomplete_beta(t * t / (dof + t * t), 0.5, dof / 2) / 2, t)
    tail = _incomplete_beta(dof / (dof + t * t), dof / 2, 0.5) / 2
    return 1 - tail if t > 0 else tail


def t_quantile(probability: float, dof: int) -> float:
    """Return the value that Student's t stays below with this probability, which must exceed 0.5."""
    low, high = 0.0, 1.0
    while t_cdf(high, dof) < probability:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, dof) < probability else (low, middle)
    return high


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    fraction = 1.0
    for n in range(FRACTION_TERMS, 0, -1):
        m = n // 2
        if n % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        fraction = 1 + term / fraction
    return front / fraction


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct the p values of several tests by Holm's method, which bounds the chance of any false positive."""
    corrected, bound = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        bound = max(bound, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = bound
    return corrected


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Correct the p values of several tests by the method of Benjamini and Hochberg.

    It bounds the expected share of false positives among all positives.
    """
    corrected, bound, count = [0.0] * len(p_values), 1.0, len(p_values)
    for rank, index in reversed(list(enumerate(sorted(range(count), key=lambda index: p_values[index]), 1))):
        bound = min(bound, p_values[index] * count / rank)
        corrected[index] = bound
    return corrected


def permutation_tails(groups: Iterable[Sequence[int]]) -> tuple[float, float]:
    """Return both tails of an exact permutation test. The first count of each group is the observed one.

    If one count is drawn at random from each group, the tails are the chances that the sum of the drawn counts is at
    most, and at least, the sum of the observed ones.
    """
    chances, observed = {0: 1.0}, 0
    for counts in groups:
        totals = defaultdict[int, float](float)
        for total, chance in chances.items():
            for count, times in Counter(counts).items():
                totals[total + count] += chance * times / len(counts)
        chances, observed = totals, observed + counts[0]
    return (
        min(1.0, fsum(chance for total, chance in chances.items() if total <= observed)),
        min(1.0, fsum(chance for total, chance in chances.items() if total >= observed)),
    )


def paired_t(differences: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return (low, high, p) of Student's paired test: the 95 % interval of the mean difference, and the p value.

    The test is two-sided. All three are None if there is only one difference, or if all are equal but not 0.
    """
    mean, dof = fmean(differences), len(differences) - 1
    standard_error = stdev(differences) / sqrt(len(differences)) if dof else 0.0
    if not standard_error:
        return (None, None, None) if mean or not dof else (0.0, 0.0, 1.0)
    margin = t_quantile(0.975, dof) * standard_error
    return mean - margin, mean + margin, 2 * t_cdf(-abs(mean) / standard_error, dof)


# Ratios of sums over tasks, for example tokens per solved task

MIN_TASKS = 5
"""The interval of a ratio is computed only if at least this many tasks have a denominator other than 0."""


class Estimate(NamedTuple):
    """A figure and its 95 % interval, from ``low`` to ``high``.

    ``value`` is None if the figure is undefined, for example if no task was solved. ``low`` and ``high`` are None if
    there is no interval.
    """

    value: float | None
    low: float | None
    high: float | None


Fractions = Sequence[tuple[float, float]]
"""The numerator and the denominator of each task."""


def ratio(fractions: Fractions) -> Estimate:
    """Return the sum of the numerators divided by the sum of the denominators.

    The interval is for a ratio estimated from a random sample of tasks (Cochran, Sampling Techniques, 1977, section
    6.4). It uses a quantile of Student's t, because samples may be small.
    """
    return _estimate(_value(fractions), _residuals(fractions), _has_interval(fractions))


def positive_ratio(fractions: Fractions) -> Estimate:
    """Return ``ratio`` with an interval that cannot go below 0, computed on the log scale (delta method)."""
    estimate = ratio(fractions)
    if not estimate.value or estimate.high is None:
        return estimate
    factor = exp(estimate.high / estimate.value - 1)
    return Estimate(estimate.value, round(estimate.value / factor, 6), round(estimate.value * factor, 6))


def ratio_difference(first: Fractions, second: Fractions) -> Estimate:
    """Return the second ratio minus the first, with an interval as in ``ratio``.

    Both ratios must be over the same tasks, in the same order.
    """
    residuals = [after - before for before, after in zip(_residuals(first), _residuals(second), strict=True)]
    return _estimate(_value(second) - _value(first), residuals, _has_interval(first) and _has_interval(second))


def _value(fractions: Fractions) -> float:
    numerator, denominator = map(fsum, zip(*fractions, strict=True))
    return numerator / denominator if denominator else float("nan")


def _residuals(fractions: Fractions) -> list[float]:
    """Return the influence of each task on the ratio: about how much the ratio would fall without the task."""
    value, total = _value(fractions), fsum(denominator for _, denominator in fractions)
    return [
        (numerator - value * denominator) / total if total else float("nan") for numerator, denominator in fractions
    ]


def _has_interval(fractions: Fractions) -> bool:
    return sum(denominator != 0 for _, denominator in fractions) >= MIN_TASKS


def _estimate(value: float, residuals: Sequence[float], has_interval: bool) -> Estimate:
    if not isfinite(value):
        return Estimate(None, None, None)
    if not has_interval:
        return Estimate(round(value, 6), None, None)
    count = len(residuals)
    standard_error = sqrt(count / (count - 1) * fsum(residual * residual for residual in residuals))
    margin = t_quantile(0.975, count - 1) * standard_error
    return Estimate(round(value, 6), round(value - margin, 6), round(value + margin, 6))
