"""The player, the effects of goals on the player, and the chances of success.

A *goal* is one action of a plan, such as ``mine({"log": 3})``. Recipes, tools and the inventory determine the effects
of a goal, or the reason why it cannot be reached. A *station* is a crafting table or a furnace.

Table 18 of the DEPS paper reports how often a learned controller succeeds at some skills. Here, goals succeed with the
same probabilities. A skill that the paper did not measure has the probability of the most similar skill in the table.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from pydantic import JsonValue

from planbook.envs.minecraft import game_data
from planbook.envs.minecraft.game_data import DATA, Recipe, Source
from planbook.envs.minecraft.terrain import Sight, Spot, Terrain, Trip, trip, visible_sources
from planbook.envs.types import Action

START = Spot(0.0, 0.0, 0, 0)
THREE_IRON_ORES = 0.16
"""The probability of mining three pieces of iron ore or more."""
OTHER_TREES, OTHER_ANIMALS, OTHER_ORES, OTHER_BLOCKS = 0.29, 0.50, 0.40, 0.54
"""The probabilities for other sources: those that the paper measured for birch, llama, iron ore and dirt."""
DEFAULT_LIMIT, ORE_LIMIT, DIAMOND_LIMIT = 600, 3000, 12000
"""The time limits, in ticks, of most goals, of goals for ores, and of goals for diamonds."""


@dataclass(frozen=True)
class GoalEffects:
    """The effects of reaching a goal."""

    text: str
    """A verb phrase for the goal, such as "mine 3 log"."""
    skill: str
    """The skill that the goal needs: the name of a source, or a kind of work such as "smelt at furnace"."""
    ticks: int
    """The number of ticks that the goal takes."""
    gains: Mapping[str, int] = field(default_factory=dict)
    """Maps an item to the number of pieces that are added to the inventory."""
    losses: Mapping[str, int] = field(default_factory=dict)
    """Maps an item to the number of pieces that are removed from the inventory."""
    trip: Trip | None = None
    worn: str = ""
    """The item that the player equips, or ""."""

    @property
    def chance(self) -> float:
        """The probability that the goal is reached within its time limit."""
        if self.skill == "iron_ore" and sum(self.gains.values()) >= 3:
            return THREE_IRON_ORES
        return DATA.chances.get(self.skill, _default_chance(self.skill))

    @property
    def time_limit(self) -> int:
        """The time limit of the goal in ticks."""
        if self.skill == "diamond_ore":
            return DIAMOND_LIMIT
        source = game_data.SOURCES.get(self.skill)
        return ORE_LIMIT if source is not None and source.tool == "pickaxe" and source.depth[1] else DEFAULT_LIMIT

    def succeeds(self, task_id: str, goals_tried: int) -> bool:
        """Return True if the current attempt at the goal succeeds.

        ``goals_tried`` counts the goals tried so far. The result is random, but every replay of an episode repeats it.
        """
        return random.Random(f"luck/{task_id}/{goals_tried}").random() < self.chance


def _default_chance(skill: str) -> float:
    source = game_data.SOURCES.get(skill)
    if source is None:
        return 1.0
    if skill.endswith("_tree"):
        return OTHER_TREES
    if source.verb == "kill":
        return OTHER_ANIMALS
    return OTHER_ORES if source.tool == "pickaxe" else OTHER_BLOCKS


@dataclass
class MinecraftPlayer:
    """The state of the player: everything that changes during an episode."""

    inventory: dict[str, int] = field(default_factory=dict)
    spot: Spot = START
    worn: tuple[str, ...] = ()
    units_taken: dict[int, int] = field(default_factory=dict)
    """Maps the number of a site to the number of units that the player has taken from it."""
    memory: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    """Maps a source to the tick at which it was last seen, and its position (x, y) at that time.

    The player looks around at the start of an episode, and at the end of each wait or trip.
    """
    first_held: dict[str, float] = field(default_factory=dict)
    """Maps an item to the tick at which the player first held it."""
    goals_tried: int = 0
    """The number of goals tried so far."""
    _sight_cache: tuple[Spot, Sight] | None = None
    """The last result of ``sight``, and the spot from which it was computed.

    A spot includes the time, and ``units_taken`` changes only as time passes. So the result is valid until the spot
    changes.
    """

    def copy(self) -> "MinecraftPlayer":
        """Return a copy that shares nothing mutable."""
        return replace(
            self,
            inventory=dict(self.inventory),
            units_taken=dict(self.units_taken),
            memory=dict(self.memory),
            first_held=dict(self.first_held),
        )

    def count_held(self, item: str) -> int:
        """Return how many pieces of an item are in the inventory."""
        return self.inventory.get(item, 0)

    def exchange(self, losses: Mapping[str, int], gains: Mapping[str, int]) -> None:
        """Remove the losses from the inventory, and add the gains to it."""
        for item, count in losses.items():
            self.inventory[item] -= count
            if not self.inventory[item]:
                del self.inventory[item]
        for item, count in gains.items():
            self.inventory[item] = self.count_held(item) + count
            self.first_held.setdefault(item, self.spot.tick)

    def sight(self, terrain: Terrain) -> Sight:
        """Return the sources in sight, each with the distance and the position of its nearest site."""
        if self._sight_cache is None or self._sight_cache[0] != self.spot:
            self._sight_cache = self.spot, visible_sources(terrain, self.spot, self.units_taken)
        return self._sight_cache[1]

    def look(self, terrain: Terrain) -> None:
        """Record the current positions of the sources in sight in ``memory``."""
        for source, (_, x, y) in self.sight(terrain).items():
            self.memory[source] = self.spot.tick, x, y

    def wait(self, terrain: Terrain, ticks: int) -> None:
        """Let ticks pass without moving, and then look around."""
        self.spot = self.spot._replace(tick=self.spot.tick + ticks)
        self.look(terrain)

    def carry_out(self, terrain: Terrain, effects: GoalEffects) -> None:
        """Apply the effects of a goal to the player."""
        spot = effects.trip.spot if effects.trip else self.spot
        self.spot = spot._replace(tick=self.spot.tick + effects.ticks)
        self.exchange(effects.losses, effects.gains)
        if effects.worn and effects.worn not in self.worn:
            self.worn = (*self.worn, effects.worn)
        if effects.trip is None:
            return
        for number, count in effects.trip.units_taken.items():
            self.units_taken[number] = self.units_taken.get(number, 0) + count
        self.look(terrain)


CRAFTING_TICKS = {None: 10, game_data.TABLE: 30}
"""Maps a station, or None for crafting by hand, to the ticks that crafting takes, regardless of the number of items."""
SMELTING_TICKS = 200
"""Number of ticks that the furnace takes for one item."""
EQUIPPING_TICKS = 10
MAX_COUNT = 36 * 64
"""The number of items that an inventory can hold."""


class GoalRefused(Exception):
    """The goal cannot be reached from the current state. The message, which the agent reads, is the reason."""


class NoneLeft(GoalRefused):
    """The map does not contain enough of an item. The player can discover this only by trying."""


def effects_of(terrain: Terrain, player: MinecraftPlayer, action: Action) -> GoalEffects:
    """Return the effects that a goal would have in the current state, without applying them.

    Raises GoalRefused if the goal cannot be reached, or its subclass NoneLeft if the map does not contain enough of the
    item.
    """
    if action.name == "equip":
        return _equipping_effects(player, *action.args)
    find_effects = _gathering_effects if action.name in ("mine", "kill") else _making_effects
    return find_effects(action.name, terrain, player, *action.args)


def _gathering_effects(
    verb: str, terrain: Terrain, player: MinecraftPlayer, obj: JsonValue, tool: JsonValue = None
) -> GoalEffects:
    item, count = read_object(obj)
    source = find_source(verb, item)
    held_tool = _held_tool(player, tool)
    check_tool(source, held_tool, item)
    route = trip(terrain, player.spot, player.units_taken, source, count, DATA.digging_ticks.get(held_tool, 0))
    if route is None:
        raise NoneLeft(f"there are not {count} {item} left to be found in this world")
    text = f"mine {count} {source.yielded_item(item)}" + ("" if item in source.gives else f" from {source.name}")
    if verb == "kill":
        text = f"kill {count} {source.name}"
    gains = dict.fromkeys(source.gives, count)
    return GoalEffects(text, source.name, ceil(route.spot.tick - player.spot.tick), gains, {}, route)


def _making_effects(
    verb: str, terrain: Terrain, player: MinecraftPlayer, obj: JsonValue, materials: JsonValue, tool: JsonValue = None
) -> GoalEffects:
    recipe, count = read_recipe(verb, obj, materials)
    needs = recipe.needs(count)
    lacking = [f"{n} {name} (you hold {held})" for name, n in needs.items() if (held := player.count_held(name)) < n]
    if lacking:
        raise GoalRefused(f"not enough material: to {verb} {count} {recipe.output} takes {' and '.join(lacking)}")
    check_station(recipe, _held_tool(player, tool))
    gains = {recipe.output: recipe.makes * recipe.uses(count)}
    ticks = SMELTING_TICKS * recipe.uses(count) if verb == "smelt" else CRAFTING_TICKS[recipe.station]
    skill = f"{verb} at {recipe.station}" if recipe.station else verb
    return GoalEffects(f"{verb} {format_counts(gains)} from {format_counts(needs)}", skill, ticks, gains, needs)


def _equipping_effects(player: MinecraftPlayer, obj: JsonValue) -> GoalEffects:
    item = read_equipment(obj)
    if not player.count_held(item):
        raise GoalRefused(f"you hold no {item}")
    return GoalEffects(f"equip the {item}", "equip", EQUIPPING_TICKS, worn=item)


def read_equipment(obj: JsonValue) -> str:
    """Return the item that a goal names, if it can be equipped. Raises GoalRefused if it cannot."""
    if not (isinstance(obj, str) and game_data.can_be_equipped(obj)):
        raise GoalRefused(f"{obj} cannot be equipped")
    return obj


def read_object(obj: JsonValue) -> tuple[str, int]:
    """Return the item and the count in the first argument of a goal.

    Raises GoalRefused if the argument does not name exactly one item.
    """
    counts = read_counts(obj, "the object")
    if len(counts) != 1:
        raise GoalRefused(f"a goal names one kind of thing, not {len(counts)}: {obj!r}")
    item, count = next(iter(counts.items()))
    check_item(item)
    return item, count


def read_counts(value: JsonValue, subject: str) -> dict[str, int]:
    """Return an argument of a goal that maps names to counts, such as ``{"log": 3}``.

    Raises GoalRefused if the argument is not a dict, or if a count is not a whole number from 1 to MAX_COUNT. The
    error message calls the argument ``subject``.
    """
    if not isinstance(value, dict):
        raise GoalRefused(f'{subject} must be written like {{"log": 3}}, not {value!r}')
    counts: dict[str, int] = {}
    for name, count in value.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_COUNT:
            raise GoalRefused(f"{subject} must be counted in whole numbers from 1 to {MAX_COUNT}; {name} has {count!r}")
        counts[name] = count
    return counts


def check_item(item: str) -> None:
    """Raise GoalRefused if no item has this name."""
    if item not in game_data.ITEMS:
        raise GoalRefused(f"there is no item called {item}")


def find_source(verb: str, item: str) -> Source:
    """Return the source that a mining or killing goal refers to. Raises GoalRefused if there is no such source."""
    source = game_data.source_of(item)
    if source is None or source.verb != verb:
        raise GoalRefused(f"{item} cannot be {'mined' if verb == 'mine' else 'obtained by killing'}")
    return source


def read_recipe(verb: str, obj: JsonValue, materials: JsonValue) -> tuple[Recipe, int]:
    """Return the recipe that a crafting or smelting goal uses, and the number of items to make.

    Raises GoalRefused if there is no such recipe, or if the plan states fewer materials than the recipe takes.
    """
    item, count = read_object(obj)
    material_counts = read_counts(materials, "the materials")
    recipe = find_recipe(verb, item, material_counts)
    needs = recipe.needs(count)
    if any(material_counts[name] < needed for name, needed in needs.items()):
        raise GoalRefused(
            f"the recipe takes more: {count} {item} takes {format_counts(needs)}, "
            f"and the plan states {format_counts(material_counts)}"
        )
    return recipe, count


def find_recipe(verb: str, item: str, materials: Mapping[str, int]) -> Recipe:
    """Return the recipe for an item that takes exactly these kinds of materials, in whatever number.

    Raises GoalRefused if there is no such recipe.
    """
    recipes = [recipe for recipe in game_data.RECIPES.get(item, ()) if recipe.verb == verb]
    if not recipes:
        raise GoalRefused(f"{item} cannot be {'crafted' if verb == 'craft' else 'smelted'}")
    for recipe in recipes:
        if set(recipe.ingredients) == set(materials):
            return recipe
    similar = max(recipes, key=lambda recipe: len(set(recipe.ingredients) & set(materials)))
    raise GoalRefused(
        f"wrong recipe: {similar.makes} {item} takes {format_counts(similar.ingredients)}, "
        f"and the plan states {format_counts(materials)}"
    )


def read_tool(tool: JsonValue) -> str:
    """Return the tool that the plan names, or "" if it names none. Raises GoalRefused if no item has this name."""
    if tool is None:
        return ""
    if not isinstance(tool, str):
        raise GoalRefused(f"the tool must be a name or None, not {tool!r}")
    if tool != game_data.STARTING_TOOL:
        check_item(tool)
    return tool


def _held_tool(player: MinecraftPlayer, tool: JsonValue) -> str:
    """Return the tool that the plan names, or "" if it names none. Raises GoalRefused if the tool is not held."""
    named = read_tool(tool)
    if named not in ("", game_data.STARTING_TOOL) and not player.count_held(named):
        raise GoalRefused(f"no tool: you hold no {named}")
    return named


def check_tool(source: Source, tool: str, item: str) -> None:
    """Raise GoalRefused if the source cannot be mined with the tool. The error message names ``item``."""
    is_sufficient = DATA.pickaxe_tiers.get(tool, 0) >= source.tier if source.tier else tool == source.tool
    if source.tool and not is_sufficient:
        needed = source.lowest_tool + (" or better" if source.tier else "")
        raise GoalRefused(f"it takes {needed} to mine {item}, and the plan uses {tool or 'none'}")


def check_station(recipe: Recipe, tool: str) -> None:
    """Raise GoalRefused if the recipe needs a crafting table or a furnace, and the plan uses another tool or none."""
    if recipe.station not in (None, tool):
        raise GoalRefused(
            f"it takes {recipe.station} as the tool to {recipe.verb} {recipe.output}, "
            f"and the plan uses {tool or 'none'}"
        )


def format_counts(counts: Mapping[str, int]) -> str:
    """Return counts as the paper writes an inventory: "10 planks, 4 stick"."""
    return ", ".join(f"{count} {item}" for item, count in counts.items()) or "nothing"
