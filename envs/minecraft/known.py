"""Every goal that the world knows, once: what a plan's line may be taken for where it is no valid call."""

from collections.abc import Iterator
from functools import cache

from envs.minecraft.nature import SOURCES
from envs.minecraft.recipes import ITEMS, RECIPES, wearable
from envs.types import Action


@cache
def known_goals() -> tuple[Action, ...]:
    """One of each thing from each source, each recipe once, and what can be worn or held."""
    return (*_gathered(), *_made(), *(Action("equip", (item,)) for item in sorted(ITEMS) if wearable(item)))


def _gathered() -> Iterator[Action]:
    for source in SOURCES.values():
        for item in dict.fromkeys((*source.gives, source.asked)):
            yield Action(source.verb, ({item: 1}, source.tool_named or None))


def _made() -> Iterator[Action]:
    for recipes in RECIPES.values():
        for recipe in recipes:
            yield Action(recipe.verb, ({recipe.output: recipe.makes}, {**recipe.ingredients}, recipe.station))
