"""Minecraft 1.11.2 as data: trees, animals and ores, the tools they require, biomes, and all recipes.

Lengths are in blocks, and times are in ticks. A second has 20 ticks. A tier is the game's level of a pickaxe: harder
ores need a higher tier. In the game, quartz exists only in another dimension. Here it is found in ordinary ground, so
that the paper's task of making a quartz block is possible.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

STARTING_TOOL = "axe"
"""The tool that the agent has from the start (table 1 of the DEPS paper).

This tool is not an item: it is never in the inventory, and no recipe makes it.
"""
PICKAXES: Mapping[str, int] = {
    "wooden_pickaxe": 1,
    "golden_pickaxe": 1,
    "stone_pickaxe": 2,
    "iron_pickaxe": 3,
    "diamond_pickaxe": 4,
}
"""Maps a pickaxe to its tier."""
DIGGING: Mapping[str, int] = {
    "wooden_pickaxe": 23,
    "golden_pickaxe": 5,
    "stone_pickaxe": 12,
    "iron_pickaxe": 8,
    "diamond_pickaxe": 6,
}
"""Maps a pickaxe to the number of ticks that it needs to dig a block of stone."""


class Source(NamedTuple):
    """A kind of thing that can be mined or killed, such as an oak tree. Each unit gives one of each of its items."""

    name: str
    """The name that the agent sees, such as oak_tree."""
    verb: str
    """The action by which the items are obtained: mine or kill."""
    goal_name: str
    """The item by which a goal refers to this source alone, such as oak_log."""
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
        return next(name for name, tier in PICKAXES.items() if tier == self.tier) if self.tier else self.tool

    def yielded_item(self, item: str) -> str:
        """Return the item that a goal for ``item`` yields, such as ``log`` for ``birch_log``."""
        return item if item in self.gives else self.gives[0]


def _tree(wood: str) -> Source:
    return Source(f"{wood}_tree", "mine", f"{wood}_log", ("log",), 30, amount=(5, 14))


def _animal(name: str, *gives: str) -> Source:
    return Source(name, "kill", gives[0], gives, 40, amount=(1, 4))


def _plain(name: str, work: int = 15, tool: str = "") -> Source:
    return Source(name, "mine", name, (name,), work, tool)


def _ore(
    name: str, tier: int, depth: tuple[int, int], amount: tuple[int, int], item: str = "", goal_name: str = ""
) -> Source:
    item = item or name
    return Source(name, "mine", goal_name or item, (item,), 2, "pickaxe", tier, depth, amount)


STONE = Source("stone", "mine", "cobblestone", ("cobblestone",), 1, "pickaxe", 1)
DIRT = _plain("dirt", 10)
EVERYWHERE = (STONE.name, DIRT.name)
"""The sources that are under the agent's feet wherever it is."""
TREES = tuple(f"{wood}_tree" for wood in "oak birch acacia spruce jungle dark_oak".split())
_ALL_SOURCES = (
    *(_tree(tree.removesuffix("_tree")) for tree in TREES),
    _animal("sheep", "wool", "mutton"),
    _animal("cow", "beef", "leather"),
    _animal("pig", "porkchop"),
    _animal("chicken", "chicken", "feather"),
    _animal("rabbit", "rabbit", "rabbit_hide"),
    _animal("spider", "string"),
    _animal("skeleton", "bone"),
    _animal("creeper", "gunpowder"),
    STONE,
    DIRT,
    *(_plain(name) for name in "sand gravel clay_ball reeds red_flower yellow_flower cactus wheat_seeds".split()),
    *(_plain(name) for name in "brown_mushroom red_mushroom pumpkin flint".split()),
    _plain("leaves", 10, "shears"),
    _plain("vine", 10, "shears"),
    _ore("coal_ore", 1, (3, 30), (4, 10), "coal"),
    _ore("quartz_ore", 1, (5, 35), (4, 9), "quartz"),
    _ore("iron_ore", 2, (6, 40), (4, 9)),
    _ore("lapis_ore", 2, (40, 52), (2, 6), "dye", "lapis_lazuli"),
    _ore("gold_ore", 3, (35, 52), (3, 7)),
    _ore("redstone_ore", 3, (45, 56), (4, 8), "redstone"),
    _ore("diamond_ore", 3, (48, 58), (2, 5), "diamond"),
    _ore("obsidian", 4, (45, 54), (4, 9)),
)
SOURCES: Mapping[str, Source] = {source.name: source for source in _ALL_SOURCES}
ANIMALS = tuple(source.name for source in _ALL_SOURCES if source.verb == "kill")
_SOURCE_OF = {item: source for source in reversed(_ALL_SOURCES) for item in (*source.gives, source.goal_name)}


def source_of(item: str) -> Source | None:
    """Return the source that an item in a goal refers to, or None if there is none.

    An item that several sources give refers to the first of them: ``log`` refers to the oak tree.
    """
    return _SOURCE_OF.get(item)


class Biome(NamedTuple):
    """A kind of landscape, such as a desert."""

    weight: int
    """The frequency of the biome, relative to other biomes."""
    soil: int
    """The depth of the soil above the stone, in blocks."""
    sites: Mapping[str, int]
    """Maps a source to the number of its sites in a region with this biome."""


def _biome(weight: int, soil: int, sites: str) -> Biome:
    return Biome(weight, soil, {name: int(count) for name, count in (pair.split(":") for pair in sites.split())})


BIOMES: Mapping[str, Biome] = {
    "plains": _biome(4, 3, "oak_tree:1 sheep:1 cow:1 pig:1 yellow_flower:2 red_flower:2 wheat_seeds:5"),
    "forest": _biome(4, 3, "oak_tree:5 birch_tree:1 pig:1 spider:1 red_flower:2 brown_mushroom:2 leaves:4"),
    "birch_forest": _biome(2, 3, "birch_tree:5 chicken:1 rabbit:1 spider:1 yellow_flower:2 leaves:4"),
    "roofed_forest": _biome(1, 3, "dark_oak_tree:5 spider:1 creeper:2 brown_mushroom:4 red_mushroom:4 leaves:4"),
    "taiga": _biome(2, 3, "spruce_tree:5 sheep:1 rabbit:2 brown_mushroom:2 pumpkin:1 leaves:2 clay_ball:1"),
    "savanna": _biome(2, 4, "acacia_tree:4 cow:1 sheep:1 wheat_seeds:4 skeleton:1"),
    "jungle": _biome(1, 4, "jungle_tree:5 chicken:1 pig:1 vine:4 leaves:5 reeds:1"),
    "desert": _biome(2, 5, "sand:4 cactus:4 rabbit:2 skeleton:2 reeds:1 creeper:1"),
    "swamp": _biome(1, 4, "oak_tree:3 reeds:2 clay_ball:3 spider:1 vine:2 red_mushroom:2 creeper:1"),
    "mountains": _biome(2, 0, "spruce_tree:1 oak_tree:1 sheep:1 gravel:3 flint:2 skeleton:1"),
}


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
    """The crafting table or furnace, if the player must have one in the inventory, or None."""

    def uses(self, target: int) -> int:
        """Return how many times the recipe must be used to make at least ``target`` items."""
        return -(-target // self.makes)

    def needs(self, target: int) -> dict[str, int]:
        """Return the materials needed to make at least ``target`` items."""
        return {item: count * self.uses(target) for item, count in self.ingredients.items()}


def _read() -> tuple[str, dict[str, list[Recipe]]]:
    data = json.loads(RECIPES_FILE.read_text(encoding="utf-8"))
    recipes: dict[str, list[Recipe]] = {}
    for row in data["recipes"]:
        recipe = Recipe(*row)
        recipes.setdefault(recipe.output, []).append(recipe)
    return data["version"], recipes


VERSION, RECIPES = _read()
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
    """Return the recipe with the fewest steps (the first of several), or None if no recipe's ingredients can be got."""
    ranked = [
        (len(steps), recipe) for recipe in RECIPES.get(item, ()) if (steps := _steps(recipe, (item,))) is not None
    ]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _steps(recipe: Recipe, products: tuple[str, ...]) -> list[str] | None:
    """Return the items that must be obtained for a recipe, or None if one of them cannot be obtained.

    ``products`` are the items for which the recipe is needed, directly or indirectly. None of them may be an
    ingredient, since no item can be needed to make itself.
    """
    steps: list[str] = []
    for item in recipe.ingredients:
        if source_of(item) is not None:
            steps.append(item)
        elif item in products:
            return None
        else:
            paths = (_steps(other, (*products, item)) for other in RECIPES.get(item, ()))
            shortest = min((path for path in paths if path is not None), key=len, default=None)
            if shortest is None:
                return None
            steps += [*shortest, item]
    return steps


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
