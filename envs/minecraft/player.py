"""The player: inventory, place and memory, the effects of a goal, and the chance of reaching it (DEPS, table 18).

The paper measured how often a learned controller succeeds at some skills. Other skills get the chance of the most
similar one.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planbook.envs.minecraft.game_data import SOURCES
from planbook.envs.minecraft.terrain import Sight, Spot, Terrain, Trip, visible

START = Spot(0.0, 0.0, 0, 0)


@dataclass(frozen=True)
class GoalEffects:
    """The effects of a goal that can be reached."""

    text: str
    skill: str
    """The skill used: the name of a source, or the kind of work."""
    ticks: int
    gains: Mapping[str, int] = field(default_factory=dict)
    losses: Mapping[str, int] = field(default_factory=dict)
    trip: Trip | None = None
    worn: str = ""


@dataclass
class MinecraftPlayer:
    """The player: everything that changes in an episode."""

    inventory: dict[str, int] = field(default_factory=dict)
    spot: Spot = START
    worn: tuple[str, ...] = ()
    gone: dict[int, int] = field(default_factory=dict)
    """Amount taken from each site, by number."""
    memory: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    """By source: the tick and the position of the last sighting, at the start or at the end of a wait or trip."""
    first: dict[str, float] = field(default_factory=dict)
    """Tick at which each item was first held."""
    tries: int = 0
    """Number of goals tried."""
    _seen: tuple[Spot, Sight] | None = None
    """The last result of ``sight`` with its spot, which includes the time; ``gone`` changes only as time passes."""

    def copy(self) -> "MinecraftPlayer":
        """Return a copy that shares nothing mutable."""
        return replace(
            self,
            inventory=dict(self.inventory),
            gone=dict(self.gone),
            memory=dict(self.memory),
            first=dict(self.first),
        )

    def held(self, item: str) -> int:
        """Return the number of an item that is held."""
        return self.inventory.get(item, 0)

    def exchange(self, losses: Mapping[str, int], gains: Mapping[str, int]) -> None:
        """Remove the losses and add the gains."""
        for item, count in losses.items():
            self.inventory[item] -= count
            if not self.inventory[item]:
                del self.inventory[item]
        for item, count in gains.items():
            self.inventory[item] = self.held(item) + count
            self.first.setdefault(item, self.spot.tick)

    def sight(self, terrain: Terrain) -> Sight:
        """Return what is in sight now."""
        if self._seen is None or self._seen[0] != self.spot:
            self._seen = self.spot, visible(terrain, self.spot, self.gone)
        return self._seen[1]

    def look(self, terrain: Terrain) -> None:
        """Remember what is in sight."""
        for source, (_, x, y) in self.sight(terrain).items():
            self.memory[source] = self.spot.tick, x, y


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
"""The chances of birch, llama, iron ore and dirt in table 18."""
SHORT, ORE, LONG = 600, 3000, 12000
"""Time limits in ticks: of most goals, of ores, and of diamonds."""


def chance(effects: GoalEffects) -> float:
    """Return the probability that the goal is reached within its time limit."""
    if effects.skill == "iron_ore" and sum(effects.gains.values()) >= 3:
        return THREE_IRON_ORES
    return CHANCES.get(effects.skill, _default_chance(effects.skill))


def _default_chance(skill: str) -> float:
    source = SOURCES.get(skill)
    if source is None:
        return 1.0
    if skill.endswith("_tree"):
        return OTHER_TREES
    if source.verb == "kill":
        return OTHER_ANIMALS
    return OTHER_ORES if source.tool == "pickaxe" else OTHER_BLOCKS


def time_limit(effects: GoalEffects) -> int:
    """Return the time limit of a goal in ticks."""
    if effects.skill == "diamond_ore":
        return LONG
    source = SOURCES.get(effects.skill)
    return ORE if source is not None and source.tool == "pickaxe" and source.depth[1] else SHORT


def succeeds(effects: GoalEffects, task_id: str, tries: int) -> bool:
    """Return whether the goal is reached this time: drawn for each try, with the same result in every replay."""
    return random.Random(f"luck/{task_id}/{tries}").random() < chance(effects)


def wait(terrain: Terrain, player: MinecraftPlayer, ticks: int) -> None:
    """Let time pass without effect. The player stays where it is."""
    player.spot = player.spot._replace(tick=player.spot.tick + ticks)
    player.look(terrain)


def carry_out(terrain: Terrain, player: MinecraftPlayer, effects: GoalEffects) -> None:
    """Apply the effects of a goal."""
    spot = effects.trip.spot if effects.trip else player.spot
    player.spot = spot._replace(tick=player.spot.tick + effects.ticks)
    player.exchange(effects.losses, effects.gains)
    if effects.worn and effects.worn not in player.worn:
        player.worn = (*player.worn, effects.worn)
    if effects.trip is None:
        return
    for number, count in effects.trip.taken.items():
        player.gone[number] = player.gone.get(number, 0) + count
    player.look(terrain)
