"""The statistics of comparisons agree with published examples, with plain enumeration, and with simulated runs."""

import math
import random
import statistics
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]

from planbook.results.statistics import (
    holm,
    mcnemar,
    paired_difference,
    paired_t,
    positive_ratio,
    ratio,
    ratio_difference,
    sign_flip_test,
    t_cdf,
    t_quantile,
    wilson,
    wilson_over,
)


def test_a_paired_difference_has_the_published_interval() -> None:
    """Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables, chapter 8: the data of Cavo (2012)."""
    assert paired_difference(6, 16, 161) == pytest.approx((-0.1195, -0.0032), abs=5e-5)
    assert paired_difference(0, 0, 0) == (-1.0, 1.0)


def test_mcnemars_test_has_the_published_p_value() -> None:
    """Fagerland, Lydersen and Laake (2013), the data of Bentur (2009): exact conditional p 0.0703."""
    assert mcnemar(1, 7) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar(0, 3000) == 0.0


def test_holms_correction_agrees_with_his_examples() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_repeats_of_a_task_narrow_the_interval_only_if_they_differ() -> None:
    assert wilson_over([[True]] * 6 + [[False]] * 4) == wilson(6, 10)
    assert wilson_over([[True] * 5] * 6 + [[False] * 5] * 4) == pytest.approx(wilson(6, 10)), "always the same"
    assert wilson_over([[True, False]] * 10) == pytest.approx(wilson(10, 20)), "as if independent"
    assert wilson_over([[True] * 3] * 4) == pytest.approx(wilson(4, 4))
    assert wilson_over([]) == (0.0, 1.0)


DIFFERENCES = st.lists(st.integers(-4, 4), max_size=9)


@given(DIFFERENCES)
def test_sign_flips_agree_with_trying_every_combination(differences: list[int]) -> None:
    observed = abs(sum(differences))
    ways = list(product((1, -1), repeat=len(differences)))
    sums = [abs(sum(sign * each for sign, each in zip(way, differences, strict=True))) for way in ways]
    assert sign_flip_test(differences) == pytest.approx(sum(each >= observed for each in sums) / len(ways))


COUNTS = st.integers(0, 400)


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_flips_agree_with_mcnemars_test_on_single_pairs(gained: int, lost: int) -> None:
    assert sign_flip_test([1] * gained + [-1] * lost) == pytest.approx(mcnemar(gained, lost), abs=1e-9)


@given(COUNTS, COUNTS, COUNTS)
def test_the_interval_of_a_paired_difference_contains_it_and_is_symmetric(gained: int, lost: int, same: int) -> None:
    total = gained + lost + same
    low, high = paired_difference(gained, lost, total)
    assert paired_difference(lost, gained, total) == pytest.approx((-high, -low))
    if total:
        assert low <= (gained - lost) / total + 1e-9
        assert high >= (gained - lost) / total - 1e-9


@pytest.mark.parametrize(("gain", "loss", "tasks"), [(0.15, 0.10, 134), (0.3, 0.05, 60), (0.04, 0.02, 134)])
def test_intervals_of_paired_differences_have_their_stated_coverage(gain: float, loss: float, tasks: int) -> None:
    rng = np.random.default_rng(7)
    draws = rng.multinomial(tasks, (gain, loss, 1 - gain - loss), 4_000)
    intervals = [paired_difference(int(gained), int(lost), tasks) for gained, lost, _ in draws]
    held = sum(low <= gain - loss <= high for low, high in intervals) / len(intervals)
    assert 0.94 <= held <= 0.98


def test_intervals_of_ratios_and_of_their_differences_have_their_stated_coverage() -> None:
    rng, held = random.Random(10), Counter[str]()
    for _ in range(400):
        tasks = [rng.expovariate(1.0) for _ in range(60)]
        first = [(task, rng.random() < 0.7) for task in tasks]
        second = [(2 * task, rng.random() < 0.5) for task in tasks]
        difference = ratio_difference(first, second)
        of_ratio, of_logarithm = ratio(first), positive_ratio(first)
        for name, found, true in (
            ("ratio", of_ratio, 1 / 0.7),
            ("positive ratio", of_logarithm, 1 / 0.7),
            ("difference", difference, 2 / 0.5 - 1 / 0.7),
        ):
            assert found.low is not None
            assert found.high is not None
            held[name] += found.low <= true <= found.high
    assert all(0.91 <= count / 400 <= 0.97 for count in held.values()), held


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=30))
def test_for_many_tasks_the_interval_of_a_ratio_is_that_of_the_jackknife(parts: list[tuple[int, int]]) -> None:
    many = parts * (1_000 // len(parts))
    found, (above, below) = ratio(many), (sum(part) for part in zip(*many, strict=True))
    if not below:
        assert found == (None, None, None)
        return
    out = [(above - one) / (below - other) for one, other in many]
    spread = math.sqrt((len(many) - 1) * statistics.pvariance(out))
    assert found.value == pytest.approx(above / below, abs=1e-6)
    if found.high is not None:
        assert found.high - above / below == pytest.approx(1.96 * spread, rel=0.05, abs=2e-6)


@given(st.lists(st.integers(0, 99), min_size=5, max_size=30).filter(lambda values: len(set(values)) > 1))
def test_a_ratio_with_equal_denominators_has_the_interval_of_a_mean(values: list[int]) -> None:
    low, high, _ = paired_t(values)
    assert ratio([(value, 1) for value in values])[1:] == pytest.approx((low, high), abs=1e-5)


def test_the_interval_of_a_positive_ratio_is_that_of_its_logarithm() -> None:
    """Five of twenty tasks are solved, and one of them cost more than all others together."""
    parts = [(10.0, 1.0), *[(1.0, 1.0)] * 4, *[(0.0, 0.0)] * 15]
    value, low, high = ratio(parts)
    assert (value, low and low < 0) == (2.8, True)
    assert high is not None
    factor = math.exp(high / 2.8 - 1)
    assert positive_ratio(parts) == pytest.approx((2.8, 2.8 / factor, 2.8 * factor), abs=1e-6)
    assert positive_ratio([(0.0, 1.0)] * 5) == (0.0, 0.0, 0.0)
    assert positive_ratio(parts[:4]) == (13 / 4, None, None)
    assert positive_ratio([(3.0, 0.0)] * 20) == (None, None, None)


def test_a_ratio_with_a_small_or_missing_denominator_has_no_bounds() -> None:
    assert ratio([(3.0, 1.0), (3.0, 0.0), (3.0, 0.0)]) == (9.0, None, None)
    assert ratio([(3.0, 0.0)] * 20) == (None, None, None)
    assert ratio([(math.nan, 1.0), *[(3.0, 1.0)] * 20]) == (None, None, None)


@given(st.floats(-60, 60), st.integers(1, 5_000))
def test_students_t_agrees_with_scipy(t: float, freedom: int) -> None:
    assert t_cdf(t, freedom) == pytest.approx(float(stdtr(freedom, t)), abs=1e-12, rel=1e-8)


@given(st.floats(0.51, 0.9999), st.integers(1, 5_000))
def test_quantiles_of_students_t_agree_with_scipy(share: float, freedom: int) -> None:
    assert t_quantile(share, freedom) == pytest.approx(float(stdtrit(freedom, share)), rel=1e-8)
