"""The difference of what two runs solved, over pairs of the same tasks, and how likely chance alone gives as much."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from planbook.compare.gathering import Pair, Played
from planbook.compare.ratios import ratio
from planbook.results.statistics import (
    holm,
    mcnemar,
    paired_difference,
    sign_flips,
    tasks_needed,
    tasks_needed_by_mean,
)

MCNEMAR, SIGN_FLIPS = "McNemar, exact", "sign flips over tasks, exact"
BONETT_PRICE, OVER_TASKS = "Bonett and Price", "over tasks, each with its repeats"
NOISE = 0.05
"""From this p on a difference may be noise."""


class Told(BaseModel):
    """Base of what ``compare --json`` tells."""

    model_config = ConfigDict(frozen=True)


class Difference(Told):
    """Second minus first, over some pairs; shares are fractions of all of them.

    ``p`` is that of ``test``: with several repeats of a task their pairs are not independent, and tasks are what is
    drawn and swapped; ``p_of_pairs`` is McNemar's all the same. ``p_corrected`` is after Holm, where there are several.
    """

    tasks: int
    pairs: int
    first: int
    second: int
    """Solved."""
    gained: int
    lost: int
    difference: float
    low: float
    high: float
    interval: str
    p: float
    test: str
    p_of_pairs: float
    p_corrected: float

    @property
    def more(self) -> int:
        """How many more the second run solved."""
        return self.second - self.first

    @property
    def is_told_apart(self) -> bool:
        """Whether chance alone would seldom make so great a difference."""
        return self.p_corrected < NOISE


def difference(pairs: Sequence[Pair]) -> Difference:
    """How much more the second sides solved than the first ones, and how likely chance alone gives so much."""
    tasks = by_task(pairs)
    gained = sum(gain(pair) == 1 for pair in pairs)
    lost = sum(gain(pair) == -1 for pair in pairs)
    p = of_pairs = mcnemar(gained, lost)
    low, high = paired_difference(gained, lost, len(pairs))
    repeated = len(tasks) < len(pairs)
    if repeated:
        p = sign_flips([sum(map(gain, each)) for each in tasks.values()])
        low, high = _interval_over(list(tasks.values()))
    return Difference(
        tasks=len(tasks),
        pairs=len(pairs),
        first=sum(is_solved(one) for one, _ in pairs),
        second=sum(is_solved(other) for _, other in pairs),
        gained=gained,
        lost=lost,
        difference=(gained - lost) / len(pairs),
        low=low,
        high=high,
        interval=OVER_TASKS if repeated else BONETT_PRICE,
        p=p,
        test=SIGN_FLIPS if repeated else MCNEMAR,
        p_of_pairs=of_pairs,
        p_corrected=p,
    )


def corrected(differences: Mapping[str, Difference]) -> dict[str, Difference]:
    """The same, each p corrected for that there are others (Holm)."""
    chances = holm([each.p for each in differences.values()])
    return {
        name: each.model_copy(update={"p_corrected": p})
        for (name, each), p in zip(differences.items(), chances, strict=True)
    }


def needed(pairs: Sequence[Pair], overall: Difference) -> int | None:
    """About how many tasks would tell such a difference apart, four times of five; None where there is none.

    Each of them is to be played as often as here.
    """
    if overall.tasks == overall.pairs:
        return tasks_needed(overall.gained, overall.lost, overall.pairs)
    return tasks_needed_by_mean([fmean(map(gain, each)) for each in by_task(pairs).values()])


def _interval_over(tasks: Sequence[Sequence[Pair]]) -> tuple[float, float]:
    found = ratio([(sum(map(gain, pairs)), len(pairs)) for pairs in tasks])
    low, high = (-1.0 if found.low is None else found.low), (1.0 if found.high is None else found.high)
    return max(-1.0, low), min(1.0, high)


def by_task(pairs: Iterable[Pair]) -> dict[tuple[str, int], list[Pair]]:
    """The pairs of each task: several, where it was played several times."""
    found = defaultdict[tuple[str, int], list[Pair]](list)
    for pair in pairs:
        task = pair[0].entry.task
        found[task.id, task.seed].append(pair)
    return found


def is_solved(played: Played) -> bool:
    """Whether the world says so."""
    return played.ending.outcome.solved


def gain(pair: Pair) -> int:
    """1 where only the second solved it, -1 where only the first did, else 0."""
    return is_solved(pair[1]) - is_solved(pair[0])
