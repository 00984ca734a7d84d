"""The player: inventory, place and memory, and the effects of a goal, with the chance to reach it (DEPS, table 18).

The paper measured a learned controller on some skills; each other skill has the figures of the listed one most like it.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planbook.envs.minecraft.game_data import DURABILITY, SOURCES
from planbook.envs.minecraft.terrain import Sight, Spot, Terrain, Trip, visible

START = Spot(0.0, 0.0, 0, 0)


@dataclass(frozen=True)
class GoalEffects:
    """A goal that can be reached, and all that reaching it changes."""

    text: str
    skill: str
    """What is practised: a source's name, or the kind of work."""
    ticks: int
    gains: Mapping[str, int] = field(default_factory=dict)
    losses: Mapping[str, int] = field(default_factory=dict)
    trip: Trip | None = None
    tool: str = ""
    worn: str = ""


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

    def sight(self, layout: Terrain) -> Sight:
        """What is in sight now."""
        if self._seen is None or self._seen[0] != self.spot:
            self._seen = self.spot, visible(layout, self.spot, self.gone)
        return self._seen[1]

    def look(self, layout: Terrain) -> None:
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


CHANCES = {
    "oak_tree": 0.39,
    "birch_tree": 0.29,
    "stone": 0.95,
    "wheat_seeds": 0.18,
    "leaves": 0.68,
    "vine": 0.68,
    "dirt": 0.54,
    "iron_ore": 0.40,
    "diamond_ore": 0.35,
    "sheep": 0.44,
    "cow": 0.60,
    "chicken": 0.46,
    "pig": 0.49,
    "equip": 1.0,
    "craft": 1.0,
    "craft at crafting_table": 0.90,
    "smelt at furnace": 0.80,
}
THREE_IRON_ORES = 0.16
OTHER_TREES, OTHER_ANIMALS, OTHER_ORES, OTHER_BLOCKS = 0.29, 0.50, 0.40, 0.54
"""As birch, llama, iron ore and dirt."""
SHORT, ORE, LONG = 600, 3000, 12000
"""Ticks a goal may take: most, ores, and diamonds."""


def chance(deed: GoalEffects) -> float:
    """How likely the deed is done within its time."""
    if deed.skill == "iron_ore" and sum(deed.gains.values()) >= 3:
        return THREE_IRON_ORES
    return CHANCES.get(deed.skill, _other(deed.skill))


def _other(skill: str) -> float:
    source = SOURCES.get(skill)
    if source is None:
        return 1.0
    if skill.endswith("_tree"):
        return OTHER_TREES
    if source.verb == "kill":
        return OTHER_ANIMALS
    return OTHER_ORES if source.tool == "pickaxe" else OTHER_BLOCKS


def time_limit(deed: GoalEffects) -> int:
    """Ticks that the deed may take."""
    if deed.skill == "diamond_ore":
        return LONG
    source = SOURCES.get(deed.skill)
    return ORE if source is not None and source.tool == "pickaxe" and source.depth[1] else SHORT


def succeeds(deed: GoalEffects, task_id: str, tries: int) -> bool:
    """Whether the deed is done this time: thrown anew for each goal that is begun, the same in every replay."""
    return random.Random(f"luck/{task_id}/{tries}").random() < chance(deed)


def wait(layout: Terrain, body: Body, ticks: int) -> None:
    """Time passes, and nothing comes of it; the agent is back where it was."""
    body.spot = body.spot._replace(tick=body.spot.tick + ticks)
    body.look(layout)


def carry_out(layout: Terrain, body: Body, deed: GoalEffects, durability: bool) -> str:
    """Let a deed happen; what else there is to tell of it."""
    spot = deed.trip.spot if deed.trip else body.spot
    body.spot = spot._replace(tick=body.spot.tick + deed.ticks)
    body.exchange(deed.losses, deed.gains)
    if deed.worn and deed.worn not in body.worn:
        body.worn = (*body.worn, deed.worn)
    if deed.trip is None:
        return ""
    for number, count in deed.trip.taken.items():
        body.gone[number] = body.gone.get(number, 0) + count
    body.look(layout)
    return f" Your {deed.tool} broke." if durability and body.wear_out(deed.tool, deed.trip.dug) else ""
