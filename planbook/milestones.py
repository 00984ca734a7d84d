"""How far the episodes of a run came, as their worlds tell (``Environment.milestones``), whatever method played."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from rich.table import Table

from envs import EnvsError
from planbook.config import Config
from planbook.measures import unlock_score
from planbook.run import Entry
from planner import Ending

Reached = Mapping[str, Mapping[str, tuple[int, int]]]
SIDE_BY_SIDE = 3
"""Milestones in a row of the terminal's table."""


def milestones(
    episodes: Sequence[tuple[Entry, Ending]], known: Sequence[str] = ()
) -> dict[str, dict[str, tuple[int, int]]]:
    """By a task type whose tasks all ask for the same: each thing reached, with [episodes, of how many].

    Things that were reached by most come first: those that all others build on. Of a world whose milestones are
    ``known`` beforehand those that nobody reached come last.
    """
    found = {}
    for kind in sorted({entry.task.type for entry, _ in episodes}):
        alike = [(entry, ending) for entry, ending in episodes if entry.task.type == kind]
        if known or len({entry.task.goal for entry, _ in alike}) == 1:
            counts = Counter(dict.fromkeys(known, 0))
            counts.update(thing for _, ending in alike for thing in ending.milestones)
            found[kind] = {thing: (count, len(alike)) for thing, count in counts.most_common()}
    return {kind: reached for kind, reached in found.items() if reached}


def known_milestones(config: Config) -> tuple[str, ...]:
    """Everything that the world can tell; nothing where that differs by task, or the world is not at hand."""
    try:
        return config.world.all_milestones
    except EnvsError:
        return ()


def unlocked(reached: Reached) -> float:
    """The unlock score over all task types together."""
    counts: Counter[str] = Counter()
    episodes: Counter[str] = Counter()
    for things in reached.values():
        counts.update({thing: count for thing, (count, _) in things.items()})
        episodes.update({thing: of for thing, (_, of) in things.items()})
    return unlock_score(counts[thing] / of for thing, of in episodes.items())


def milestone_parts(reached: Reached, score: float | None) -> Iterator[Table | str]:
    """A line for each task type; where all that can be reached is known, a table and the score of that."""
    if score is None:
        yield from milestone_lines(reached)
        return
    yield from (_table(kind, things) for kind, things in reached.items())
    yield f"Unlock score, over all of them: {score:.2f} %."


def milestone_lines(reached: Reached) -> Iterable[str]:
    """One for each task type."""
    for kind, things in reached.items():
        told = ", ".join(f"{thing} {count}/{of}" for thing, (count, of) in things.items())
        yield f"Reached in {kind}: {told}."


def _table(kind: str, things: Mapping[str, tuple[int, int]]) -> Table:
    """Several in a row, to be read column by column."""
    episodes = next(of for _, of in things.values())
    table = Table(title=f"Reached in {kind}, % of {episodes} episodes", title_justify="left")
    for _ in range(SIDE_BY_SIDE):
        table.add_column("milestone", no_wrap=True)
        table.add_column("%", justify="right")
    told = [(thing, f"{count / of:.1%}".rstrip("%")) for thing, (count, of) in things.items()]
    height = -(-len(told) // SIDE_BY_SIDE)
    columns = (told[start : start + height] for start in range(0, len(told), height))
    for row in zip_longest(*columns, fillvalue=("", "")):
        table.add_row(*chain.from_iterable(row))
    return table
