"""What prompt graphs did (AgentKit), read from the store: passes, and nodes that were answered or kept their answer."""

from collections.abc import Iterable

from pydantic import BaseModel

from planbook.figures.methods.plays import Deeds, Nodes
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
    skipped: int = 0
    """Nodes that were skipped and had no answer yet."""


def passes(deeds: Deeds, episodes: Episodes) -> Passes | None:
    """The figures of a run; None for one without a graph."""
    every = [deeds.play(entry.path).nodes for entry, _ in episodes]
    sums = Nodes(*map(sum, zip(*every, strict=True))) if every else Nodes()
    return Passes(**sums._asdict()) if sums.passes else None


def pass_lines(figures: Passes, tasks: int) -> Iterable[str]:
    """One line."""
    temporary = f"; {figures.temporary} nodes were temporary" if figures.temporary else ""
    skipped = f", {figures.skipped} were skipped before they had one" if figures.skipped else ""
    yield (
        f"Passes of the graph: {figures.passes}, {figures.passes / tasks:.1f} a task; of its nodes "
        f"{figures.answered} were answered and {figures.reused} kept the answer that they had{skipped}{temporary}."
    )
