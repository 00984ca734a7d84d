"""What prompt graphs did (AgentKit), read from the store: passes, and nodes that were answered or kept their answer."""

from collections.abc import Iterable

from pydantic import BaseModel

from planbook.figures.deeds import Deeds
from planbook.figures.statistics import Episodes


class Passes(BaseModel):
    """What ``--json`` has as ``graph``: sums over the run."""

    passes: int
    answered: int
    """Nodes that a model answered."""
    reused: int
    """Nodes that were skipped, so that their last answer stood in."""
    temporary: int
    """Nodes that were there for one pass."""


def passes(deeds: Deeds, episodes: Episodes) -> Passes | None:
    """The figures of a run; None for one without a graph."""
    every = [deeds.play(entry.path).nodes for entry, _ in episodes]
    found, answered, reused, temporary = map(sum, zip(*every, strict=True)) if every else (0, 0, 0, 0)
    if not found:
        return None
    return Passes(passes=found, answered=answered, reused=reused, temporary=temporary)


def pass_lines(figures: Passes, tasks: int) -> Iterable[str]:
    """One line."""
    temporary = f"; {figures.temporary} nodes were temporary" if figures.temporary else ""
    yield (
        f"Passes of the graph: {figures.passes}, {figures.passes / tasks:.1f} a task; of its nodes "
        f"{figures.answered} were answered and {figures.reused} kept the answer that they had{temporary}."
    )
