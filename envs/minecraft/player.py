"""The player's inventory, place and memory, the effects of a goal, and the chance that the goal is reached.

In table 18, the DEPS paper reports how often a learned controller succeeds at some skills. These are the chances here.
A skill that the paper did not measure gets the chance of the most similar one.
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
    """What the player does, such as "mine 3 log"."""
    skill: str
    """The skill that the goal needs: the name of a source, or a kind of work such as "smelt at furnace"."""
    ticks: int
    """The time that the goal takes."""
    gains: Mapping[str, int] = field(default_factory=dict)
    """Maps an item to the number of pieces that are added to the inventory."""
    losses: Mapping[str, int] = field(default_factory=dict)
    """Maps an item to the number of pieces that are removed from the inventory."""
    trip: Trip | None = None
    worn: str = ""
    """The item that is put on, if any."""


@dataclass
class MinecraftPlayer:
    """The player: everything that changes in an episode."""

    inventory: dict[str, int] = field(default_factory=dict)
    spot: Spot = START
    worn: tuple[str, ...] = ()
    taken: dict[int, int] = field(default_factory=dict)
    """Maps the number of a site to the amount that was taken from it."""
    memory: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    """Maps a source to the tick and the position (x, y) at which it was seen last.

    The player looks around at the start of an episode, and at the end of a wait or trip.
    """
    first_held: dict[str, float] = field(default_factory=dict)
    """Maps an item to the tick at which it was first held."""
    tries: int = 0
    """The number of goals that were tried."""
    _seen: tuple[Spot, Sight] | None = None
    """The last result of ``sight``, and the spot to which it belongs.

    A spot includes the time, and ``taken`` changes only as time passes, so the result is valid as long as the spot is.
    """

    def copy(self) -> "MinecraftPlayer":
        """Return a copy that shares nothing mutable."""
        return replace(
            self,
            inventory=dict(self.inventory),
            taken=dict(self.taken),
            memory=dict(self.memory),
            first_held=dict(self.first_held),
        )

    def held(self, item: str) -> int:
        """Return how many pieces of an item the player holds."""
        return self.inventory.get(item, 0)

    def exchange(self, losses: Mapping[str, int], gains: Mapping[str, int]) -> None:
        """Remove the losses and add the gains."""
        for item, count in losses.items():
            self.inventory[item] -= count
            if not self.inventory[item]:
                del self.inventory[item]
        for item, count in gains.items():
            self.inventory[item] = self.held(item) + count
            self.first_held.setdefault(item, self.spot.tick)

    def sight(self, terrain: Terrain) -> Sight:
        """Return what is in sight now: each source with the distance and the position of its nearest site."""
        if self._seen is None or self._seen[0] != self.spot:
            self._seen = self.spot, visible(terrain, self.spot, self.taken)
        return self._seen[1]

    def look(self, terrain: Terrain) -> None:
        """Remember what is in sight."""
        for source, (_, x, y) in self.sight(terrain).items():
            self.memory[source] = self.spot.tick, x, y


CHANCES: Mapping[str, float] = {
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
"""Maps a skill to the probability that it succeeds, as measured in the paper."""
THREE_IRON_ORES = 0.16
"""The probability of mining three pieces of iron ore or more."""
OTHER_TREES, OTHER_ANIMALS, OTHER_ORES, OTHER_BLOCKS = 0.29, 0.50, 0.40, 0.54
"""The probabilities for sources that the paper did not measure. They are those of birch, llama, iron ore and dirt."""
DEFAULT_LIMIT, ORE_LIMIT, DIAMOND_LIMIT = 600, 3000, 12000
"""Time limits in ticks for most goals, for ores, and for diamonds."""


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
        return DIAMOND_LIMIT
    source = SOURCES.get(effects.skill)
    return ORE_LIMIT if source is not None and source.tool == "pickaxe" and source.depth[1] else DEFAULT_LIMIT


def succeeds(effects: GoalEffects, task_id: str, tries: int) -> bool:
    """Return True if the goal is reached this time.

    ``tries`` is the number of goals tried so far. The result is random, but the same in every replay of the episode.
    """
    return random.Random(f"luck/{task_id}/{tries}").random() < chance(effects)


def wait(terrain: Terrain, player: MinecraftPlayer, ticks: int) -> None:
    """Let time pass. The player stays where it is and looks around at the end."""
    player.spot = player.spot._replace(tick=player.spot.tick + ticks)
    player.look(terrain)


def carry_out(terrain: Terrain, player: MinecraftPlayer, effects: GoalEffects) -> None:
    """Apply the effects of a goal to the player."""
    spot = effects.trip.spot if effects.trip else player.spot
    player.spot = spot._replace(tick=player.spot.tick + effects.ticks)
    player.exchange(effects.losses, effects.gains)
    if effects.worn and effects.worn not in player.worn:
        player.worn = (*player.worn, effects.worn)
    if effects.trip is None:
        return
    for number, count in effects.trip.taken.items():
        player.taken[number] = player.taken.get(number, 0) + count
    player.look(terrain)
