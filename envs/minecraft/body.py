"""The player: what it holds and wears, where it is, what it has seen, and what it took from the world."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planbook.envs.minecraft.layout import Layout
from planbook.envs.minecraft.nature import DURABILITY
from planbook.envs.minecraft.sight import Sight, visible
from planbook.envs.minecraft.trips import Spot

START = Spot(0.0, 0.0, 0, 0)


@dataclass
class Body:
    """All that changes in an episode."""

    inventory: dict[str, int] = field(default_factory=dict)
    spot: Spot = START
    worn: tuple[str, ...] = ()
    gone: dict[int, int] = field(default_factory=dict)
    """What was taken from each site, by number."""
    uses: dict[str, int] = field(default_factory=dict)
    """Blocks that the tool in use has dug."""
    memory: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    """By source: when one was last in sight where a goal ended that led somewhere, and where it was."""
    first: dict[str, float] = field(default_factory=dict)
    """When each item was first held."""
    tries: int = 0
    """How many goals were begun."""
    _seen: tuple[Spot, Sight] | None = None
    """What was in sight when it was last asked for: it follows from the spot, which has the time."""

    def copy(self) -> "Body":
        """A copy that shares nothing that changes."""
        return replace(
            self,
            inventory=dict(self.inventory),
            gone=dict(self.gone),
            uses=dict(self.uses),
            memory=dict(self.memory),
            first=dict(self.first),
        )

    def held(self, item: str) -> int:
        """How many of an item there are."""
        return self.inventory.get(item, 0)

    def exchange(self, losses: Mapping[str, int], gains: Mapping[str, int]) -> None:
        """Use up the one and take the other."""
        for item, count in losses.items():
            self.inventory[item] -= count
            if not self.inventory[item]:
                del self.inventory[item]
        for item, count in gains.items():
            self.inventory[item] = self.held(item) + count
            self.first.setdefault(item, self.spot.tick)

    def sight(self, layout: Layout) -> Sight:
        """What is in sight now."""
        if self._seen is None or self._seen[0] != self.spot:
            self._seen = self.spot, visible(layout, self.spot, self.gone)
        return self._seen[1]

    def look(self, layout: Layout) -> None:
        """Remember what is in sight."""
        for source, (_, x, y) in self.sight(layout).items():
            self.memory[source] = self.spot.tick, x, y

    def wear_out(self, tool: str, blocks: int) -> bool:
        """Use a tool; whether it broke. One that lasts into a goal lasts to its end."""
        if tool not in DURABILITY:
            return False
        used = self.uses.get(tool, 0) + blocks
        broken = used >= DURABILITY[tool]
        self.uses[tool] = 0 if broken else used
        if broken:
            self.exchange({tool: 1}, {})
        return broken
