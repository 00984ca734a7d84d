"""What worlds measure beside success (a game's reward, a score), in two runs: by how much the second one has more."""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import TypeVar

from planbook.compare.difference import NOISE, Told, by_task
from planbook.compare.gathering import Pair, Played
from planbook.results.statistics import holm, t_below, t_quantile

Key = TypeVar("Key")
SCORE = "score"
"""The world's own, from 0 to 1; told where it knows parts of a success and nothing that it measures is the same."""


class MeasureDifference(Told):
    """Second minus first, over pairs that were both played and measured.

    By the t distribution over tasks, each with the mean of its repeats: interval and ``p`` are of one test and always
    agree. ``p_corrected`` is after Holm, the interval is not, and these two may disagree. All are None where they
    cannot be told: for a single task, or where all tasks differ by exactly as much.
    """

    tasks: int
    pairs: int
    first: float
    second: float
    """Means."""
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None

    @property
    def is_told_apart(self) -> bool:
        """Whether chance alone would seldom make so great a difference."""
        return self.p_corrected is not None and self.p_corrected < NOISE

    @property
    def is_tested(self) -> bool:
        """Whether a test could find anything: not where no task differs, or all by as much."""
        return self.low is not None and self.low != self.high


def measured(pairs: Sequence[Pair]) -> dict[str, MeasureDifference]:
    """By what is measured, over the pairs that both were played; nothing of what no pair tells."""
    found = {}
    for name in dict.fromkeys(name for pair in pairs for side in pair for name in _values(side)):
        told = [pair for pair in pairs if all(name in _values(side) for side in pair)]
        if told and (name != SCORE or _says_more(pairs)):
            found[name] = _difference(name, told)
    return corrected(found)


def corrected(found: Mapping[Key, MeasureDifference]) -> dict[Key, MeasureDifference]:
    """The same, each p corrected for that there are others (Holm); what a test could not find anything in is none."""
    tested = {key: each.p for key, each in found.items() if each.is_tested and each.p is not None}
    chances = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {key: each.model_copy(update={"p_corrected": chances.get(key, each.p)}) for key, each in found.items()}


def _values(played: Played) -> dict[str, float]:
    return {SCORE: played.ending.verdict.score, **played.ending.measures}


def _says_more(pairs: Sequence[Pair]) -> bool:
    """Whether scores know parts of a success, and are not just what is measured under another name."""
    every = [_values(side) for pair in pairs for side in pair]
    others = {name for each in every for name in each} - {SCORE}
    same = any(all(each.get(name) == each[SCORE] for each in every) for name in others)
    return any(0 < each[SCORE] < 1 for each in every) and not same


def _difference(name: str, pairs: Sequence[Pair]) -> MeasureDifference:
    def mean(sides: Iterable[Played]) -> float:
        return fmean(_values(side)[name] for side in sides)

    tasks = [mean(other for _, other in each) - mean(one for one, _ in each) for each in by_task(pairs).values()]
    low, high, p = paired_t(tasks)
    return MeasureDifference(
        tasks=len(tasks),
        pairs=len(pairs),
        first=mean(one for one, _ in pairs),
        second=mean(other for _, other in pairs),
        difference=fmean(tasks),
        low=low,
        high=high,
        p=p,
        p_corrected=p,
    )


def paired_t(differences: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """The 95 % interval of their mean and the two-sided p of Student's paired test; nothing where they do not vary."""
    centre, freedom = fmean(differences), len(differences) - 1
    spread = stdev(differences) / sqrt(len(differences)) if freedom else 0.0
    if not spread:
        return (None, None, None) if centre or not freedom else (0.0, 0.0, 1.0)
    reach = t_quantile(0.975, freedom) * spread
    return centre - reach, centre + reach, 2 * t_below(-abs(centre) / spread, freedom)
