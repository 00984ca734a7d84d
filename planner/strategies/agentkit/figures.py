"""What prompt graphs did (AgentKit): passes, and nodes that were answered or kept their answer."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from pydantic import Field

from planbook.planner.graph import NodeAnswered
from planbook.planner.strategies.figures import Figures, Played


class Passes(Figures):
    """What ``--json`` has as ``graph``: sums over the run."""

    key = "graph"

    passes: int
    answered: int
    """Nodes that a model answered."""
    reused: int
    """Nodes that were skipped, so that their last answer stood in."""
    temporary: int
    """Nodes that were there for one pass."""
    skipped: int = 0
    """Nodes that were skipped and had no answer yet."""
    tasks: int = Field(default=0, exclude=True)

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run; None for one without a graph."""
        counts: Counter[str] = Counter()
        for played in episodes:
            nodes = played.held(NodeAnswered)
            answered = set[str]()
            counts["passes"] += len({node.number for node in nodes})
            for node in nodes:
                answered |= set() if node.skipped else {node.node}
                kept = "reused" if node.node in answered else "skipped"
                counts[kept if node.skipped else "answered"] += 1
                counts["temporary"] += node.temporary
        found = {name: counts[name] for name in cls.model_fields}
        return cls(**found | {"tasks": len(episodes)}) if counts["passes"] else None

    def tell(self) -> Iterable[str]:
        """Tell them in one line."""
        temporary = f"; {self.temporary} nodes were temporary" if self.temporary else ""
        skipped = f", {self.skipped} were skipped before they had one" if self.skipped else ""
        yield (
            f"Passes of the graph: {self.passes}, {self.passes / self.tasks:.1f} a task; of its nodes "
            f"{self.answered} were answered and {self.reused} kept the answer that they had{skipped}{temporary}."
        )
