"""Every goal that the world knows, once: what a plan's line may be taken for where it is no valid call."""

from collections.abc import Iterator
from functools import cache

from planbook.envs.minecraft.nature import PICKAXES, SOURCES, Source
from planbook.envs.minecraft.recipes import ITEMS, RECIPES, wearable
from planbook.envs.types import Action


@cache
def known_goals() -> tuple[Action, ...]:
    """One of each thing from each source by each tool, each recipe once, and what can be worn or held."""
    worn = (Action("equip", (item,)) for item in sorted(ITEMS) if wearable(item))
    return (*_gathered(), *_made(), *worn)


def _gathered() -> Iterator[Action]:
    for source in SOURCES.values():
        for item in dict.fromkeys((*source.gives, source.asked)):
            yield from (Action(source.verb, ({item: 1}, tool)) for tool in _tools(source))


def _tools(source: Source) -> list[str | None]:
    """The tools that do it, the least first."""
    if not source.tier:
        return [source.tool or None]
    better = [name for name, tier in PICKAXES.items() if tier >= source.tier]
    return [source.tool_named, *(name for name in better if name != source.tool_named)]


def _made() -> Iterator[Action]:
    for recipes in RECIPES.values():
        for recipe in recipes:
            yield Action(recipe.verb, ({recipe.output: recipe.makes}, {**recipe.ingredients}, recipe.station))
