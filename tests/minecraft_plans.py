"""Helpers for the tests of the Minecraft environment."""

from collections.abc import Iterable

from pydantic import JsonValue

from planbook.envs import Action, Observation
from planbook.envs.minecraft import Minecraft
from tests.envs.playing import started

TO_DIAMOND = (
    Action("mine", ({"log": 4}, None)),
    Action("craft", ({"planks": 16}, {"log": 4}, None)),
    Action("craft", ({"stick": 8}, {"planks": 4}, None)),
    Action("craft", ({"crafting_table": 1}, {"planks": 4}, None)),
    Action("craft", ({"wooden_pickaxe": 1}, {"planks": 3, "stick": 2}, "crafting_table")),
    Action("mine", ({"cobblestone": 11}, "wooden_pickaxe")),
    Action("craft", ({"stone_pickaxe": 1}, {"cobblestone": 3, "stick": 2}, "crafting_table")),
    Action("craft", ({"furnace": 1}, {"cobblestone": 8}, "crafting_table")),
    Action("mine", ({"iron_ore": 3}, "stone_pickaxe")),
    Action("smelt", ({"iron_ingot": 3}, {"iron_ore": 3}, "furnace")),
    Action("craft", ({"iron_pickaxe": 1}, {"iron_ingot": 3, "stick": 2}, "crafting_table")),
    Action("mine", ({"diamond": 1}, "iron_pickaxe")),
)


def start_task(task_id: str = "MT8/diamond/0", **options: object) -> Minecraft:
    """Return an environment at the start of a task."""
    return started(Minecraft, task_id, **options)


def act_all(environment: Minecraft, actions: Iterable[Action]) -> list[Observation]:
    """Take one action after the other. Return the observations."""
    return [environment.act(action) for action in actions]


def do(environment: Minecraft, name: str, *args: JsonValue) -> Observation:
    """Take one action. Arguments that are not given have their defaults."""
    return environment.act(environment.actions[name].bind(*args))
