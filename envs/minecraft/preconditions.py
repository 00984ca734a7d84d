"""What goals need: recipes, tools, and what is held. What there is to find, and how long it takes, is not known."""

from collections.abc import Callable, Mapping

from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.deeds import (
    Refused,
    amounts,
    covers,
    known_item,
    lacks_station,
    named_tool,
    one_kind,
    recipe_for,
    suits,
    wanted_source,
)
from planbook.envs.minecraft.nature import GIVEN_TOOL
from planbook.envs.minecraft.recipes import wearable
from planbook.envs.preconditions import UNKNOWN, Change, Deed, Fact, Given, Need, Preconditions, told_by
from planbook.envs.types import Task


def preconditions(task: Task) -> Preconditions:
    """What a task's goals need, from what is held at its start."""
    start = tasks.PARALLEL_START if task.type in tasks.PARALLEL else {}
    ways: Mapping[str, Callable[..., Deed]] = {
        "mine": lambda obj, tool: _gather("mine", obj, tool),
        "kill": lambda obj, tool: _gather("kill", obj, tool),
        "craft": lambda obj, materials, tool: _make("craft", obj, materials, tool),
        "smelt": lambda obj, materials, tool: _make("smelt", obj, materials, tool),
        "equip": _equip,
    }
    deeds = {name: told_by(way, Refused, unclear=_held(UNKNOWN)) for name, way in ways.items()}
    return Preconditions(deeds, start={_held(item): count for item, count in start.items()}, usual={"held": 0})


def _held(item: Given) -> Fact:
    return Fact("held", (item,))


def _tool(tool: Given) -> list[Need]:
    named = named_tool(tool)
    return [_enough(named, 1)] if named not in ("", GIVEN_TOOL) else []


def _enough(item: str, count: int) -> Need:
    return Need.at_least(_held(item), count, f"it takes {count} {item}, and {{now}} are held then")


def _gather(verb: str, obj: Given, tool: Given) -> Deed:
    item, count = one_kind(obj)
    source, needs = wanted_source(verb, item), _tool(tool)
    suits(source, tool or "", item)
    given = item if item in source.gives else next(iter(source.gives))
    units = -(-count // source.gives[given])
    changes = [Change.by(_held(name), each * units) for name, each in source.gives.items()]
    worn_out = [Change(_held(tool), UNKNOWN)] if needs and tool else []
    return Deed(needs, [*changes, *worn_out])


def _make(verb: str, obj: Given, materials: Given, tool: Given) -> Deed:
    item, count = one_kind(obj)
    recipe = recipe_for(verb, item, amounts(materials, "the materials"))
    covers(recipe, count, amounts(materials, "the materials"))
    if lacks_station(recipe, tool or ""):
        raise Refused(f"to {verb} {item} takes {recipe.station} as tool, and the plan uses {tool or 'none'}")
    used = recipe.needs(count)
    changes = [Change.by(_held(name), -each) for name, each in used.items()]
    made = Change.by(_held(item), recipe.makes * recipe.times(count))
    return Deed([*(_enough(name, each) for name, each in used.items()), *_tool(tool)], [*changes, made])


def _equip(obj: Given) -> Deed:
    known_item(obj)
    if not wearable(obj):
        raise Refused(f"{obj} cannot be equipped")
    return Deed([_enough(obj, 1)])
