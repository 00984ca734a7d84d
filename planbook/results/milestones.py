"""Milestones that the episodes of a run reached (``Environment.milestones``), whatever method played."""

from collections import Counter
from collections.abc import Mapping, Sequence

from planbook.config import Config
from planbook.envs import EnvsError
from planbook.results.measures import unlock_score
from planbook.results.rows import Result

Reached = Mapping[str, Mapping[str, tuple[int, int]]]


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
    """Tell whether the tasks of a type ask for as many of the known milestones as can be reached."""
    return bool(known) and kind not in known


def known_milestones(config: Config) -> tuple[str, ...]:
    """Return all milestones of the environment; nothing where they differ by task, or it is not installed."""
    try:
        return config.world.all_milestones
    except EnvsError:
        return ()


def unlocked(reached: Reached, known: Sequence[str]) -> float | None:
    """Return the unlock score over all episodes that could reach everything; None for a run without them."""
    after_all = [things for kind, things in reached.items() if is_open(kind, known)]
    episodes = sum(next(of for _, of in things.values()) for things in after_all)
    if not episodes:
        return None
    return round(unlock_score(sum(things[name][0] for things in after_all) / episodes for name in known), 2)
