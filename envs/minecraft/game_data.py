"""Minecraft 1.11.2 and the tasks of the DEPS paper as data, read from ``game_data.json`` and ``recipes.json``.

Lengths are in blocks, and times are in ticks. A second has 20 ticks. A tier is the game's level of a pickaxe: harder
ores need a higher tier. In the game, quartz exists only in another dimension. Here it is found in ordinary ground, so
that the paper's task of making a quartz block is possible.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

STARTING_TOOL = "axe"
"""The tool that the agent has from the start (table 1 of the paper).

It does not count as an item: it is never in the inventory, and no recipe makes it.
"""


class Source(NamedTuple):
    """A kind of thing that can be mined or killed, such as an oak tree.

    Gathering one unit of it gives one of each item in ``gives``.
    """

    name: str
    """The name that the agent sees, such as oak_tree."""
    verb: str
    """The action by which the items are obtained: mine or kill."""
    goal_name: str
    """The name of an item that means this source, and no other, in a goal: oak_log for oak_tree."""
    gives: tuple[str, ...]
    work: int
    """The number of ticks needed to gather one unit.

    If a pickaxe is needed, this is instead the number of blocks of stone that take as long to dig.
    """
    tool: str = ""
    """The tool that is needed, or "". "pickaxe" means any pickaxe whose tier is at least ``tier``."""
    tier: int = 0
    depth: tuple[int, int] = (0, 0)
    """The minimum and maximum depth at which the source is found."""
    amount: tuple[int, int] = (3, 8)
    """The minimum and maximum number of units at one site."""

    @property
    def lowest_tool(self) -> str:
        """The tool that is needed, or "". If a pickaxe is needed, the one with the lowest sufficient tier."""
        return next(name for name, tier in DATA.pickaxe_tiers.items() if tier == self.tier) if self.tier else self.tool

    def yielded_item(self, item: str) -> str:
        """Return the item that this source gives if a goal names ``item``: ``log`` for ``birch_log``."""
        return item if item in self.gives else self.gives[0]


class Biome(NamedTuple):
    """A kind of landscape, such as a desert."""

    weight: int
    """The frequency of the biome, relative to other biomes."""
    soil: int
    """The depth of the soil above the stone, in blocks."""
    sites: Mapping[str, int]
    """Maps a source to the number of its sites in a region with this biome."""


class Group(NamedTuple):
    """One of the paper's groups of tasks. In each task, the agent must obtain one object."""

    ticks: int
    """The length of an episode."""
    objects: tuple[str, ...]


class ParallelItem(NamedTuple):
    """An item that a task with parallel goals may require."""

    verb: str
    """The action by which the item is obtained: mine or kill."""
    max_count: int
    """The maximum number of pieces that a task may require."""


class GameData(NamedTuple):
    """The content of ``game_data.json``.

    The order of entries matters: if it changes, the same seed gives a different map and different parallel goals.
    """

    pickaxe_tiers: Mapping[str, int]
    """Maps a pickaxe to its tier."""
    digging_ticks: Mapping[str, int]
    """Maps a pickaxe to the number of ticks in which it digs a block of stone."""
    sources: tuple[Source, ...]
    biomes: Mapping[str, Biome]
    veins: Mapping[str, int]
    """Maps an ore to the number of its veins, which are spread under the whole map, whatever the biome."""
    guaranteed_amounts: Mapping[str, int]
    """Maps a source to the amount at its permanent site. Every map has these sites, so that no task depends on luck."""
    chances: Mapping[str, float]
    """Maps a skill (see ``GoalEffects.skill``) to the probability that it succeeds, as measured in the paper."""
    groups: Mapping[str, Group]
    """The tasks of the paper. Items are named as in Minecraft 1.11.2.

    Six have other names in the paper's tables: wooden_pressure, door, stone_brick, stonebrick_stairs, level and
    heavy_weighted_plate.
    """
    not_in_table_21: frozenset[str]
    """The objects in ``groups`` that table 21 of the paper omits."""
    parallel_items: Mapping[str, ParallelItem]
    """The items that parallel goals may require, by name."""


DATA = TypeAdapter(GameData).validate_json(Path(__file__).with_name("game_data.json").read_bytes())
SOURCES: Mapping[str, Source] = {source.name: source for source in DATA.sources}
STONE = SOURCES["stone"]
EVERYWHERE = ("stone", "dirt")
"""The sources that are under the agent's feet wherever it is."""
ANIMALS = tuple(source.name for source in DATA.sources if source.verb == "kill")
_SOURCE_OF = {item: source for source in reversed(DATA.sources) for item in (*source.gives, source.goal_name)}


def source_of(item: str) -> Source | None:
    """Return the source that an item in a goal refers to, or None if there is none.

    An item that several sources give refers to the first of them: ``log`` refers to the oak tree.
    """
    return _SOURCE_OF.get(item)


RECIPES_FILE = Path(__file__).with_name("recipes.json")
TABLE, FURNACE = "crafting_table", "furnace"


class Recipe(NamedTuple):
    """A recipe for an item. One item may have several recipes."""

    verb: str
    """The action that uses the recipe: craft or smelt."""
    output: str
    makes: int
    """The number of items that one use of the recipe makes."""
    ingredients: Mapping[str, int]
    station: str | None
    """The crafting table or furnace that the player must have in the inventory, or None if neither is needed."""

    def uses(self, count: int) -> int:
        """Return how many times the recipe must be used to make at least ``count`` items."""
        return -(-count // self.makes)

    def needs(self, count: int) -> dict[str, int]:
        """Return the materials needed to make at least ``count`` items."""
        return {item: number * self.uses(count) for item, number in self.ingredients.items()}


def _read_recipes() -> tuple[str, dict[str, list[Recipe]]]:
    data = json.loads(RECIPES_FILE.read_text(encoding="utf-8"))
    recipes: dict[str, list[Recipe]] = {}
    for row in data["recipes"]:
        recipe = Recipe(*row)
        recipes.setdefault(recipe.output, []).append(recipe)
    return data["version"], recipes


VERSION, RECIPES = _read_recipes()
ITEMS = frozenset(
    [*RECIPES]
    + [item for recipes in RECIPES.values() for recipe in recipes for item in recipe.ingredients]
    + [name for source in SOURCES.values() for name in (source.goal_name, *source.gives)]
)
"""All names by which a plan may refer to an item."""
EQUIPMENT = tuple("helmet chestplate leggings boots shield pickaxe axe hoe shovel sword shears bow".split())
"""The last words in the names of items that can be equipped, as in ``iron_helmet``."""


def can_be_equipped(item: str) -> bool:
    """Return True if an item can be equipped."""
    return item in ITEMS and item.rsplit("_", 1)[-1] in EQUIPMENT


@cache
def best_recipe(item: str) -> Recipe | None:
    """Return the recipe with the fewest items to obtain, or None if no recipe's ingredients can be obtained.

    If there are several such recipes, return the first of them.
    """
    ranked = [
        (len(items), recipe)
        for recipe in RECIPES.get(item, ())
        if (items := _items_to_obtain(recipe, (item,))) is not None
    ]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _items_to_obtain(recipe: Recipe, products: tuple[str, ...]) -> list[str] | None:
    """Return the items that must be obtained for a recipe, or None if one of them cannot be obtained.

    ``products`` are the items for which the recipe is needed, directly or indirectly. None of them may be an
    ingredient, since no item can be made from itself.
    """
    items: list[str] = []
    for item in recipe.ingredients:
        if source_of(item) is not None:
            items.append(item)
        elif item in products:
            return None
        else:
            paths = (_items_to_obtain(other, (*products, item)) for other in RECIPES.get(item, ()))
            shortest = min((path for path in paths if path is not None), key=len, default=None)
            if shortest is None:
                return None
            items += [*shortest, item]
    return items


@cache
def milestones(item: str) -> tuple[str, ...]:
    """Return all items that have to be obtained before an item, followed by the item, in one possible order."""
    return tuple(dict.fromkeys(_needed_items(item)))


def _needed_items(item: str) -> Iterator[str]:
    source = source_of(item)
    if source is not None:
        if source.tool:
            yield from _needed_items(source.lowest_tool)
    elif recipe := best_recipe(item):
        if recipe.station == TABLE:
            yield from _needed_items(TABLE)
        for ingredient in recipe.ingredients:
            yield from _needed_items(ingredient)
        if recipe.station == FURNACE:
            yield from _needed_items(FURNACE)
    yield item
