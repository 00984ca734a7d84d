"""Average the measures of environments, and count their milestones.

A measure is a figure besides success, for example a game's reward (``Environment.measures``). A milestone is a step
towards a goal (``Environment.milestones``).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log1p
from statistics import fmean, stdev

from pydantic import BaseModel

from planbook.config import Config
from planbook.envs import EnvsError, known_environment
from planbook.results.rows import Result

ALL = "all"
"""The key of the figures over all task types. It is used only if there are several types."""


def format_number(number: float, digits: int = 4) -> str:
    """Format a number with ``digits`` significant digits. Large numbers become integers with commas."""
    return f"{number:,.0f}" if abs(number) >= 10 ** (digits - 1) else f"{number:.{digits}g}"


class Measure(BaseModel):
    """The mean and standard deviation of a figure over the played episodes; ``sd`` is None for a single episode."""

    mean: float
    sd: float | None
    episodes: int

    def __str__(self) -> str:
        spread = "" if self.sd is None else f" ± {format_number(self.sd, 2)}"
        return f"{format_number(self.mean)}{spread}"


MeasuresByType = Mapping[str, Mapping[str, Measure]]
"""Maps task types to measures by their names."""
MilestoneCounts = Mapping[str, Mapping[str, tuple[int, int]]]
"""Maps task types to milestones, and each milestone to (number of episodes that reached it, number of episodes)."""


def measures(rows: Sequence[Result]) -> dict[str, dict[str, Measure]]:
    """Return a dict that maps task types to their measures.

    If there are several types, the key ``all`` has the measures over all episodes.
    """
    by_type = {kind: _means(row for row in rows if row.type == kind) for kind in sorted({row.type for row in rows})}
    measured = {kind: figures for kind, figures in by_type.items() if figures}
    return {**measured, ALL: _means(rows)} if len(measured) > 1 else measured


def overall(measured: MeasuresByType, name: str) -> Measure | None:
    """Return a measure over all task types, or None if the environment does not have this measure."""
    figures = measured.get(ALL) or next(iter(measured.values()), {})
    return figures.get(name)


def unlock_score(shares: Iterable[float]) -> float:
    """Return Crafter's score in percent, from the share of episodes that reached each achievement.

    It is a geometric mean. So if a rare achievement becomes more frequent, the score increases by more than if a
    frequent one does.
    """
    return exp(fmean(log1p(100 * share) for share in shares)) - 1


def _means(rows: Iterable[Result]) -> dict[str, Measure]:
    values: dict[str, list[float]] = {}
    for row in rows:
        if row.outcome.played:
            for name, value in row.ending.measures.items():
                values.setdefault(name, []).append(value)
    return {name: _measure(figures) for name, figures in values.items()}


def _measure(values: Sequence[float]) -> Measure:
    spread = round(stdev(values), 4) if len(values) > 1 else None
    return Measure(mean=round(fmean(values), 4), sd=spread, episodes=len(values))


# Milestones


def milestones(rows: Sequence[Result], known: Sequence[str] = ()) -> dict[str, dict[str, tuple[int, int]]]:
    """Count the episodes that reached each milestone, for each task type that is open-ended or has a single goal.

    Frequent milestones come first, because the others build on them. ``known`` lists all milestones of the environment
    if they are the same for every task. If it is given, an open-ended type also has a count of 0 for every milestone
    that no episode reached.
    """
    by_type = {}
    for kind in sorted({row.type for row in rows}):
        rows_of_type = [row for row in rows if row.type == kind]
        seeks_all = is_open_ended(kind, known)
        if seeks_all or len({row.entry.task.goal for row in rows_of_type}) == 1:
            counts = Counter(dict.fromkeys(known if seeks_all else (), 0))
            counts.update(name for row in rows_of_type for name in row.ending.milestones)
            by_type[kind] = {name: (count, len(rows_of_type)) for name, count in counts.most_common()}
    return {kind: reached for kind, reached in by_type.items() if reached}


def is_open_ended(kind: str, known: Sequence[str]) -> bool:
    """Return whether the goal of a task type is to reach as many of the known milestones as possible."""
    return bool(known) and kind not in known


def known_milestones(config: Config) -> tuple[str, ...]:
    """Return all milestones of the environment; empty if they differ by task, or if it is not installed here."""
    try:
        return known_environment(config.env).all_milestones
    except EnvsError:
        return ()


def total_unlock_score(reached: MilestoneCounts, known: Sequence[str]) -> float | None:
    """Return the unlock score over all episodes with an open-ended goal; None if there are none."""
    open_ended = [counts for kind, counts in reached.items() if is_open_ended(kind, known)]
    episodes = sum(next(total for _, total in counts.values()) for counts in open_ended)
    if not episodes:
        return None
    return round(unlock_score(sum(counts[name][0] for counts in open_ended) / episodes for name in known), 2)
