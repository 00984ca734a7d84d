"""How far the episodes of a run came, as their worlds tell (``Environment.milestones``), whatever method played."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from planbook.run import Entry
from planner import Ending

Reached = Mapping[str, Mapping[str, tuple[int, int]]]


def milestones(episodes: Sequence[tuple[Entry, Ending]]) -> dict[str, dict[str, tuple[int, int]]]:
    """By a task type whose tasks all ask for the same: each thing reached, with [episodes, of how many].

    Things that were reached by most come first: those that all others build on.
    """
    found = {}
    for kind in sorted({entry.task.type for entry, _ in episodes}):
        alike = [(entry, ending) for entry, ending in episodes if entry.task.type == kind]
        if len({entry.task.goal for entry, _ in alike}) == 1:
            counts = Counter(thing for _, ending in alike for thing in ending.milestones)
            found[kind] = {thing: (count, len(alike)) for thing, count in counts.most_common()}
    return {kind: reached for kind, reached in found.items() if reached}


def milestone_lines(reached: Reached) -> Iterable[str]:
    """One for each task type."""
    for kind, things in reached.items():
        told = ", ".join(f"{thing} {count}/{of}" for thing, (count, of) in things.items())
        yield f"Reached in {kind}: {told}."
