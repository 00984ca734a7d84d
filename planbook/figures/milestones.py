"""How far the episodes of a run came, as their worlds tell (``Environment.milestones``), whatever method played."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from rich.table import Table

from planbook.config import Config
from planbook.envs import EnvsError
from planbook.figures.measures import unlock_score
from planbook.figures.statistics import Episodes

Reached = Mapping[str, Mapping[str, tuple[int, int]]]
SIDE_BY_SIDE = 3
"""Milestones in a row of the terminal's table."""


def milestones(episodes: Episodes, known: Sequence[str] = ()) -> dict[str, dict[str, tuple[int, int]]]:
    """By a task type whose tasks all ask for the same: each thing reached, with [episodes, of how many].

    Things that were reached by most come first: those that all others build on. Where all milestones of the world are
    ``known`` beforehand those that nobody reached come last, but for a type that asks for one of them alone.
    """
    found = {}
    for kind in sorted({entry.task.type for entry, _ in episodes}):
        alike = [(entry, ending) for entry, ending in episodes if entry.task.type == kind]
        all_of_them = is_open(kind, known)
        if all_of_them or len({entry.task.goal for entry, _ in alike}) == 1:
            counts = Counter(dict.fromkeys(known if all_of_them else (), 0))
            counts.update(thing for _, ending in alike for thing in ending.milestones)
            found[kind] = {thing: (count, len(alike)) for thing, count in counts.most_common()}
    return {kind: reached for kind, reached in found.items() if reached}


def is_open(kind: str, known: Sequence[str]) -> bool:
    """Whether the tasks of a type ask for as much of what is known as can be reached."""
    return bool(known) and kind not in known


def known_milestones(config: Config) -> tuple[str, ...]:
    """Everything that the world can tell; nothing where that differs by task, or the world is not at hand."""
    try:
        return config.world.all_milestones
    except EnvsError:
        return ()


def unlocked(reached: Reached, known: Sequence[str]) -> float | None:
    """The unlock score over all episodes that were after everything; None for a run without them."""
    after_all = [things for kind, things in reached.items() if is_open(kind, known)]
    episodes = sum(next(of for _, of in things.values()) for things in after_all)
    if not episodes:
        return None
    return round(unlock_score(sum(things[name][0] for things in after_all) / episodes for name in known), 2)


def milestone_parts(reached: Reached, score: float | None) -> Iterator[Table | str]:
    """A line for each task type; where all that can be reached is known, a table and the score of that."""
    names = {name for things in reached.values() for name in things}
    tables = {kind: things for kind, things in reached.items() if score is not None and kind not in names}
    yield from milestone_lines({kind: things for kind, things in reached.items() if kind not in tables})
    yield from (_table(kind, things) for kind, things in tables.items())
    if score is not None:
        yield f"Unlock score, over all of them: {score:.2f} %."


def milestone_lines(reached: Reached) -> Iterable[str]:
    """One for each task type; one for all those, if several, in which everything was reached every time."""
    whole = [kind for kind, things in reached.items() if all(count == of for count, of in things.values())]
    if len(whole) > 1:
        yield f"Reached all there is, every time, in {', '.join(whole)}."
        reached = {kind: things for kind, things in reached.items() if kind not in whole}
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
