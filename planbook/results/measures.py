"""Measures and milestones of environments beside success.

``Environment.measures`` are figures such as a game's reward, ``Environment.milestones`` steps on the way to a goal.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log1p
from statistics import fmean, stdev

from pydantic import BaseModel, ConfigDict

from planbook.config import Config
from planbook.envs import EnvsError
from planbook.results.rows import Result
from planbook.wording import UNPLAYED

ALL = "all"
"""All task types together, where there are several."""


def plain(number: float, digits: int = 4) -> str:
    """Return a figure of any size to so many digits, but never in powers of ten."""
    return f"{number:,.0f}" if abs(number) >= 10 ** (digits - 1) else f"{number:.{digits}g}"


class Measure(BaseModel):
    """A figure over the episodes that were played; ``sd`` is None for a single one."""

    model_config = ConfigDict(frozen=True)

    mean: float
    sd: float | None
    episodes: int

    def __str__(self) -> str:
        return plain(self.mean) if self.sd is None else f"{plain(self.mean)} ± {plain(self.sd, 2)}"


Measured = Mapping[str, Mapping[str, Measure]]
"""By task type and name."""
Reached = Mapping[str, Mapping[str, tuple[int, int]]]
"""Milestones by task type and name: episodes that reached it, of how many."""


def measures(rows: Sequence[Result]) -> dict[str, dict[str, Measure]]:
    """Return them by task type, in the order in which the environment names them; ``all`` has all types together."""
    by_type = {kind: _measured(row for row in rows if row.type == kind) for kind in sorted({row.type for row in rows})}
    found = {kind: figures for kind, figures in by_type.items() if figures}
    return {**found, ALL: _measured(rows)} if len(found) > 1 else found


def overall(measured: Measured, name: str) -> Measure | None:
    """Return a measure over the whole run, whatever the types; None where the environment does not take it."""
    figures = measured.get(ALL) or next(iter(measured.values()), {})
    return figures.get(name)


def unlock_score(shares: Iterable[float]) -> float:
    """Return Crafter's score in percent, of the share of episodes in which each achievement was reached.

    A mean of logarithms: an achievement that is hardly ever reached counts for more than one that always is.
    """
    return exp(fmean(log1p(100 * share) for share in shares)) - 1


def _measured(rows: Iterable[Result]) -> dict[str, Measure]:
    values: dict[str, list[float]] = {}
    for row in rows:
        if row.outcome not in UNPLAYED:
            for name, value in row.measures.items():
                values.setdefault(name, []).append(value)
    return {name: _measure(each) for name, each in values.items()}


def _measure(values: Sequence[float]) -> Measure:
    spread = round(stdev(values), 4) if len(values) > 1 else None
    return Measure(mean=round(fmean(values), 4), sd=spread, episodes=len(values))


# Milestones.


def milestones(rows: Sequence[Result], known: Sequence[str] = ()) -> dict[str, dict[str, tuple[int, int]]]:
    """Count each milestone, as [episodes, of how many], by task type where all tasks of the type have the same goal.

    The most frequent come first: all others build on them. Where all milestones of the environment are ``known``
    beforehand, those that nobody reached come last, except for a type that asks for one of them alone.
    """
    found = {}
    for kind in sorted({row.type for row in rows}):
        alike = [row for row in rows if row.type == kind]
        all_of_them = is_open(kind, known)
        if all_of_them or len({row.entry.task.goal for row in alike}) == 1:
            counts = Counter(dict.fromkeys(known if all_of_them else (), 0))
            counts.update(thing for row in alike for thing in row.ending.milestones)
            found[kind] = {thing: (count, len(alike)) for thing, count in counts.most_common()}
    return {kind: reached for kind, reached in found.items() if reached}


def is_open(kind: str, known: Sequence[str]) -> bool:
    """Return whether the tasks of a type ask for as many of the known milestones as can be reached."""
    return bool(known) and kind not in known


def known_milestones(config: Config) -> tuple[str, ...]:
    """Return all milestones of the environment; nothing where they differ by task, or it is not installed."""
    try:
        return config.environment.all_milestones
    except EnvsError:
        return ()


def unlocked(reached: Reached, known: Sequence[str]) -> float | None:
    """Return the unlock score over all episodes that could reach everything; None for a run without them."""
    after_all = [things for kind, things in reached.items() if is_open(kind, known)]
    episodes = sum(next(of for _, of in things.values()) for things in after_all)
    if not episodes:
        return None
    return round(unlock_score(sum(things[name][0] for things in after_all) / episodes for name in known), 2)
