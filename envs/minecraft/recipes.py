"""The recipes of Minecraft 1.11.2, read from the data file beside this one."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planbook.envs.minecraft.nature import SOURCES, source_of

FILE = Path(__file__).with_name("recipes.json")
TABLE, FURNACE = "crafting_table", "furnace"


class Recipe(NamedTuple):
    """One way to make an item: ``makes`` pieces from the ingredients, at a station that must be held (or None)."""

    verb: str
    output: str
    makes: int
    ingredients: Mapping[str, int]
    station: str | None

    def times(self, wanted: int) -> int:
        """How often the recipe is repeated for that many pieces."""
        return -(-wanted // self.makes)

    def needs(self, wanted: int) -> dict[str, int]:
        """What that many pieces use up."""
        return {item: count * self.times(wanted) for item, count in self.ingredients.items()}


def _read() -> tuple[str, dict[str, list[Recipe]]]:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    found: dict[str, list[Recipe]] = {}
    for row in data["recipes"]:
        recipe = Recipe(*row)
        found.setdefault(recipe.output, []).append(recipe)
    return data["version"], found


VERSION, RECIPES = _read()
ITEMS = frozenset(
    [*RECIPES]
    + [item for recipes in RECIPES.values() for recipe in recipes for item in recipe.ingredients]
    + [name for source in SOURCES.values() for name in (source.asked, *source.gives)]
)
"""Every name that a plan may use for a thing."""
EQUIPMENT = tuple("helmet chestplate leggings boots shield pickaxe axe hoe shovel sword shears bow".split())


def wearable(item: str) -> bool:
    """Whether an item can be equipped, worn or taken in hand."""
    return item in ITEMS and item.rsplit("_", 1)[-1] in EQUIPMENT


@cache
def best_recipe(item: str) -> Recipe | None:
    """The recipe that a player takes: the first whose ingredients can be had, with the fewest things before it."""
    ranked = [
        (len(steps), recipe) for recipe in RECIPES.get(item, ()) if (steps := _steps(recipe, (item,))) is not None
    ]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _steps(recipe: Recipe, before: tuple[str, ...]) -> list[str] | None:
    """What is needed on the way to a recipe's ingredients, or None where that cannot be had."""
    steps: list[str] = []
    for item in recipe.ingredients:
        if source_of(item) is not None:
            steps.append(item)
        elif item in before:
            return None
        else:
            ways = [_steps(each, (*before, item)) for each in RECIPES.get(item, ())]
            found = [way for way in ways if way is not None]
            if not found:
                return None
            steps += [*min(found, key=len), item]
    return steps


@cache
def milestones(item: str) -> tuple[str, ...]:
    """Everything to be had on the way to an item, each thing once, in an order that works; the item comes last."""
    return tuple(dict.fromkeys(_chain(item)))


def _chain(item: str) -> Iterator[str]:
    source = source_of(item)
    if source is not None:
        if source.tool:
            yield from _chain(source.tool_named)
    elif recipe := best_recipe(item):
        if recipe.station == TABLE:
            yield from _chain(TABLE)
        for ingredient in recipe.ingredients:
            yield from _chain(ingredient)
        if recipe.station == FURNACE:
            yield from _chain(FURNACE)
    yield item
