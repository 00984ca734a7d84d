"""What a selector may ask about Minecraft's goals."""

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from planbook.envs.goals import Features, Goals
from planbook.envs.minecraft.deeds import NoneLeft, Refused, amounts, one_kind, recipe_for, reckon
from planbook.envs.minecraft.known import known_goals
from planbook.envs.minecraft.nature import GIVEN_TOOL, PICKAXES, Source, source_of, sources_giving
from planbook.envs.minecraft.recipes import RECIPES, Recipe
from planbook.envs.minecraft.sight import distance_word
from planbook.envs.types import Action

if TYPE_CHECKING:
    from planbook.envs.minecraft.world import Minecraft

NEVER = -1.0
"""Stands for a time or a distance that there is none of."""
GATHERING = ("mine", "kill")
RECORDED = Path(__file__).with_name("horizons.csv")
"""What envs/minecraft/recording.py has written."""


class MinecraftGoals(Goals):
    """Every goal is one action; how long it takes depends on where the agent is, and when."""

    world: "Minecraft"

    def refusal(self, goal: Action) -> str:
        """The reason that the action would give, in its words; empty where it would be tried.

        That this world has none of a thing is no such reason: no agent sees it beforehand.
        """
        try:
            reckon(self.world.layout, self.world.body, goal)
        except NoneLeft:
            return ""
        except Refused as why:
            return str(why)
        return ""

    def is_open(self, goal: Action) -> bool:
        """Return whether the stated materials and the stated tool are held, whatever the recipe is."""
        tool = goal.args[-1] if goal.args else None
        takes = {**self.materials(goal), **({str(tool): 1} if isinstance(tool, str) and tool != GIVEN_TOOL else {})}
        return all(self.world.body.held(item) >= count for item, count in takes.items())

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return the materials that a plan states for crafting or smelting; nothing for other goals."""
        if goal.name not in ("craft", "smelt"):
            return {}
        try:
            return amounts(goal.args[1], "the materials")
        except Refused:
            return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """The same thing from other sources, and by recipes from what can be gathered (wool from string)."""
        if goal.name not in GATHERING:
            return (goal,)
        try:
            item, count = one_kind(goal.args[0])
        except Refused:
            return (goal,)
        source = source_of(item)
        if source is None or source.verb != goal.name:
            return (goal,)
        given = item if item in source.gives else next(iter(source.gives))
        others = [_from(other, given, count, goal) for other in sources_giving(given) if other is not source]
        made = [_by(recipe, count) for recipe in RECIPES.get(given, ()) if _gathered(recipe)]
        return (goal, *others, *made)

    def known(self) -> Sequence[Action]:
        """One of each thing from each source by each tool, each recipe once, and what can be worn or held."""
        return known_goals()

    def names(self, goal: Action) -> Sequence[str]:
        """The source of what is gathered."""
        source = source_of(_named(goal)[0]) if goal.name in GATHERING else None
        return (source.name,) if source else ()

    def times(self, goal: Action, count: int) -> Action:
        """So many of the object, with materials for all of them; what is equipped is not counted."""
        if goal.name == "equip":
            return goal
        item, _ = _named(goal)
        if goal.name in GATHERING:
            return Action(goal.name, ({item: count}, *goal.args[1:]))
        needs = recipe_for(goal.name, item, self.materials(goal)).needs(count)
        return Action(goal.name, ({item: count}, {**needs}, *goal.args[2:]))

    def features(self, goal: Action) -> Features:
        """What the agent sees and knows: the goal, the place, and when and how far off its source was last seen."""
        body, item, count = self.world.body, *_named(goal)
        source = source_of(item) if goal.name in GATHERING else None
        tool = goal.args[-1] if goal.name in GATHERING else None
        seen, since, remembered = _sighting(self.world, source)
        return {
            "action": goal.name,
            "item": item,
            "source": source.name if source else "none",
            "count": float(count),
            "biome": self.world.biome(),
            "seen": seen,
            "since_seen": since,
            "remembered_distance": remembered,
            "depth": float(body.spot.depth),
            "usual_depth": source.usual_depth if source else 0.0,
            "tier": float(PICKAXES.get(tool, 0)) if isinstance(tool, str) else 0.0,
            "tick": float(body.spot.tick),
        }

    def horizon(self, goal: Action) -> float:
        """The ticks that the goal takes from here: what the action takes, without bad luck and if time allows.

        Infinite for what this world has not enough of.
        """
        try:
            deed = reckon(self.world.layout, self.world.body, goal)
        except NoneLeft:
            return inf
        except Refused:
            return 0.0
        return float(self.world.ticks_for(deed))

    def recorded(self) -> Path | None:
        """Goals reached in worlds of their own, in random order."""
        return RECORDED


def _from(source: Source, item: str, count: int, goal: Action) -> Action:
    asked = source.asked if source_of(item) is not source else item
    return Action(source.verb, ({asked: count}, *goal.args[1:]))


def _gathered(recipe: Recipe) -> bool:
    return all(source_of(item) is not None for item in recipe.ingredients)


def _by(recipe: Recipe, count: int) -> Action:
    return Action(recipe.verb, ({recipe.output: count}, {**recipe.needs(count)}, recipe.station))


def _named(goal: Action) -> tuple[str, int]:
    obj = goal.args[0] if goal.args else None
    if isinstance(obj, str):
        return obj, 1
    try:
        return one_kind(obj)
    except Refused:
        return "none", 0


def _sighting(world: "Minecraft", source: Source | None) -> tuple[str, float, float]:
    """How far the source is in a word, how long ago it was seen, and how far from here that was."""
    if source is None:
        return "none", NEVER, NEVER
    body, sight = world.body, world.body.sight(world.layout)
    if source.name in sight:
        return distance_word(sight[source.name][0]), 0.0, round(sight[source.name][0], -1)
    if source.name not in body.memory:
        return "unseen", NEVER, NEVER
    when, x, y = body.memory[source.name]
    distance = ((x - body.spot.x) ** 2 + (y - body.spot.y) ** 2) ** 0.5
    return "unseen", float(body.spot.tick - when), round(distance, -1)
