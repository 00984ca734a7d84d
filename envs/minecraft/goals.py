"""The features of goals, for the selectors of the method DEPS, and their preconditions, for the dry run of plans.

A selector chooses the goal to pursue next. The *horizon* of a goal is the number of ticks needed to reach it. A dry
run checks, without acting, whether the preconditions of each action hold when a plan reaches it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from planbook.envs.minecraft import game_data, player, tasks
from planbook.envs.minecraft.game_data import DATA, Recipe, Source
from planbook.envs.minecraft.player import GoalEffects, GoalRefused, NoneLeft
from planbook.envs.minecraft.terrain import distance_word
from planbook.envs.optional_members import Features, Goals
from planbook.envs.preconditions import UNKNOWN, ArgValue, Change, Contract, Fact, Need, Preconditions, rule_contract
from planbook.envs.types import Action, Task

if TYPE_CHECKING:
    from planbook.envs.minecraft.environment import Minecraft


@cache
def known_goals() -> tuple[Action, ...]:
    """Return all goals: gathering each item with each suitable tool, using each recipe, and equipping each item."""
    making = (making_goal(recipe, recipe.makes) for recipes in game_data.RECIPES.values() for recipe in recipes)
    equipping = (Action("equip", (item,)) for item in sorted(game_data.ITEMS) if game_data.can_be_equipped(item))
    return (*_gathering_goals(), *making, *equipping)


def _gathering_goals() -> Iterator[Action]:
    for source in game_data.SOURCES.values():
        for item in dict.fromkeys((*source.gives, source.goal_name)):
            yield from (Action(source.verb, ({item: 1}, tool)) for tool in _suitable_tools(source))


def _suitable_tools(source: Source) -> list[str | None]:
    """Return the tools with which a source can be gathered. None means no tool.

    If the source needs a pickaxe, the pickaxe with the lowest sufficient tier comes first.
    """
    if not source.tier:
        return [source.tool or None]
    sufficient = [name for name, tier in DATA.pickaxe_tiers.items() if tier >= source.tier]
    return [source.lowest_tool, *(name for name in sufficient if name != source.lowest_tool)]


NOT_APPLICABLE = -1.0
"""The value of a feature for a time or distance that does not exist."""
GATHERING = ("mine", "kill")
HORIZONS_FILE = Path(__file__).with_name("horizons.csv")
"""The table of recorded goals and their horizons, which ``tools/record_goals.py`` writes."""


class MinecraftGoals(Goals):
    """The goals of Minecraft. Each goal is one action, whose duration depends on the player's position and the time."""

    environment: "Minecraft"

    def is_open(self, goal: Action) -> bool:
        """Return True if the player holds the materials and the tool that the plan states, even if these are wrong."""
        tool, needs = goal.args[-1] if goal.args else None, dict(self.materials(goal))
        if isinstance(tool, str) and tool != game_data.STARTING_TOOL:
            needs[tool] = 1
        return all(self.environment.player.count_held(item) >= count for item, count in needs.items())

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return the materials that a plan states for crafting or smelting, or {} for other goals."""
        if goal.name not in ("craft", "smelt"):
            return {}
        try:
            return player.read_counts(goal.args[1], "the materials")
        except GoalRefused:
            return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return the goal, followed by goals for other sources of the same item."""
        item, count = _object_of(goal)
        source = game_data.source_of(item)
        if source is None or source.verb != goal.name or goal.args[0] == item:  # only equipping takes a bare name
            return (goal,)
        gained = source.yielded_item(item)
        others = [other for other in game_data.SOURCES.values() if gained in other.gives and other is not source]
        return (goal, *(_gathering_goal(other, gained, count, goal) for other in others))

    def list_goals(self) -> Sequence[Action]:
        """Return all goals of the environment."""
        return known_goals()

    def aliases(self, goal: Action) -> Sequence[str]:
        """Return the name of the source that a mining or killing goal uses. Return () for other goals."""
        source = game_data.source_of(_object_of(goal)[0]) if goal.name in GATHERING else None
        return (source.name,) if source else ()

    def with_count(self, goal: Action, count: int) -> Action:
        """Return the goal with another count of its item, and with the materials for this count.

        An equipping goal has no count and is returned unchanged.
        """
        if goal.name == "equip":
            return goal
        item, _ = _object_of(goal)
        if goal.name in GATHERING:
            return Action(goal.name, ({item: count}, *goal.args[1:]))
        needs = player.find_recipe(goal.name, item, self.materials(goal)).needs(count)
        return Action(goal.name, ({item: count}, {**needs}, *goal.args[2:]))

    def features(self, goal: Action) -> Features:
        """Return the features of a goal: the numbers and words from which selectors predict its horizon.

        They contain only facts that the agent knows: the goal itself, the player's position and the time, and when and
        where the goal's source was last seen.
        """
        spot, item, count = self.environment.player.spot, *_object_of(goal)
        source = game_data.source_of(item) if goal.name in GATHERING else None
        tool = goal.args[-1] if goal.name in GATHERING else None
        seen, since, remembered = _sighting(self.environment, source)
        return {
            "action": goal.name,
            "item": item,
            "source": source.name if source else "none",
            "count": float(count),
            "biome": self.environment.biome(),
            "seen": seen,
            "since_seen": since,
            "remembered_distance": remembered,
            "depth": float(spot.depth),
            "usual_depth": sum(source.depth) / 2 if source else 0.0,
            "tier": float(DATA.pickaxe_tiers.get(str(tool), 0)),
            "tick": float(spot.tick),
        }

    def horizon(self, goal: Action) -> float:
        """Return the number of ticks that the goal takes from here if it succeeds and the episode is long enough.

        The horizon is infinite if the map does not contain enough of the item, and 0 if the goal would be refused.
        """
        try:
            effects = player.effects_of(self.environment.terrain, self.environment.player, goal)
        except NoneLeft:
            return inf
        except GoalRefused:
            return 0.0
        return float(self.environment.ticks_for(effects))

    def expected_steps(self, goal: Action, steps: float) -> float:
        """Return the expected number of ticks until the goal is reached. The successful attempt takes ``steps``.

        With the option ``chances``, each failed attempt takes the goal's time limit.
        """
        if not self.environment.options.chances:
            return steps
        item, count = _object_of(goal)
        source = game_data.source_of(item) if goal.name in GATHERING else None
        station = goal.args[-1] if goal.name in ("craft", "smelt") and goal.args[-1] else ""
        skill = source.name if source else f"{goal.name} at {station}" if station else goal.name
        effects = GoalEffects("", skill, 0, {item: count})
        return steps + effects.time_limit * (1 / effects.chance - 1)

    def horizon_table(self) -> Path | None:
        """Return the path of the table of goals, which were recorded in random order on maps used for nothing else."""
        return HORIZONS_FILE


def _gathering_goal(source: Source, item: str, count: int, goal: Action) -> Action:
    name = source.goal_name if game_data.source_of(item) is not source else item
    return Action(source.verb, ({name: count}, *goal.args[1:]))


def making_goal(recipe: Recipe, count: int) -> Action:
    """Return the goal of making at least ``count`` items by a recipe, with exactly the materials required."""
    return Action(recipe.verb, ({recipe.output: count}, {**recipe.needs(count)}, recipe.station))


def _object_of(goal: Action) -> tuple[str, int]:
    """Return the item and the count that a goal names, or ("none", 0) if the goal is faulty."""
    obj = goal.args[0] if goal.args else None
    if isinstance(obj, str):
        return obj, 1
    try:
        return player.read_object(obj)
    except GoalRefused:
        return "none", 0


def _sighting(environment: "Minecraft", source: Source | None) -> tuple[str, float, float]:
    """Return a word for a source's distance, the ticks since it was last seen, and the distance to where it was seen.

    All three concern the nearest site of the source. If the source is out of sight, the word is "unseen".
    """
    if source is None:
        return "none", NOT_APPLICABLE, NOT_APPLICABLE
    spot, memory = environment.player.spot, environment.player.memory
    sight = environment.player.sight(environment.terrain)
    if source.name in sight:
        return distance_word(sight[source.name][0]), 0.0, round(sight[source.name][0], -1)
    if source.name not in memory:
        return "unseen", NOT_APPLICABLE, NOT_APPLICABLE
    tick, x, y = memory[source.name]
    distance = ((x - spot.x) ** 2 + (y - spot.y) ** 2) ** 0.5
    return "unseen", float(spot.tick - tick), round(distance, -1)


def preconditions(task: Task) -> Preconditions:
    """Return the preconditions and effects of goals, and the inventory at the start of the task."""
    start = tasks.PARALLEL_START if task.type in tasks.PARALLEL else {}
    rules: Mapping[str, Callable[..., Contract]] = {
        "mine": partial(_gathering_contract, "mine"),
        "kill": partial(_gathering_contract, "kill"),
        "craft": partial(_making_contract, "craft"),
        "smelt": partial(_making_contract, "smelt"),
        "equip": _equipping_contract,
    }
    contracts = {name: rule_contract(rule, GoalRefused, fact=_held_fact(UNKNOWN)) for name, rule in rules.items()}
    held = {_held_fact(item): count for item, count in start.items()}
    return Preconditions(contracts, start=held, defaults={"held": 0})


def _held_fact(item: ArgValue) -> Fact:
    return Fact("held", (item,))


def _tool_needs(tool: ArgValue) -> list[Need]:
    name = player.read_tool(tool)
    return [_held_need(name, 1)] if name not in ("", game_data.STARTING_TOOL) else []


def _held_need(item: str, count: int) -> Need:
    return Need.at_least(_held_fact(item), count, f"it takes {count} {item}, and {{now}} are held")


def _gathering_contract(verb: str, obj: ArgValue, tool: ArgValue) -> Contract:
    item, count = player.read_object(obj)
    source, needs = player.find_source(verb, item), _tool_needs(tool)
    player.check_tool(source, tool or "", item)
    return Contract(needs, [Change.add(_held_fact(name), count) for name in source.gives])


def _making_contract(verb: str, obj: ArgValue, materials: ArgValue, tool: ArgValue) -> Contract:
    recipe, count = player.read_recipe(verb, obj, materials)
    player.check_station(recipe, tool or "")
    item, used = recipe.output, recipe.needs(count)
    changes = [Change.add(_held_fact(name), -number) for name, number in used.items()]
    changes.append(Change.add(_held_fact(item), recipe.makes * recipe.uses(count)))
    return Contract([*(_held_need(name, number) for name, number in used.items()), *_tool_needs(tool)], changes)


def _equipping_contract(obj: ArgValue) -> Contract:
    return Contract([_held_need(player.read_equipment(obj), 1)])
