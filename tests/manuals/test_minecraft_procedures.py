"""Minecraft's procedures know the real recipes."""

import ast

from planbook.envs.minecraft.game_data import best_recipe, milestones, source_of
from planbook.envs.minecraft.tasks import CANDIDATES, GROUPS
from planbook.manuals.library import SHIPPED

PROCEDURES = SHIPPED / "minecraft" / "procedures" / "obtaining.py"


def table(name: str) -> object:
    """The value of a constant of the procedures."""
    for node in ast.parse(PROCEDURES.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise AssertionError(f"there is no {name}")


def test_the_helper_s_recipes_are_the_environment_s() -> None:
    needed = {each for group in GROUPS.values() for item in group.objects for each in milestones(item)}
    recipes = {item: best_recipe(item) for item in needed if source_of(item) is None}
    assert table("RECIPES") == {
        item: (recipe.verb, recipe.makes, dict(recipe.ingredients), recipe.station)
        for item, recipe in recipes.items()
        if recipe is not None
    }


def test_the_helper_knows_the_tool_that_each_thing_takes() -> None:
    mined = table("MINED")
    assert isinstance(mined, dict)
    for item, tool in mined.items():
        source = source_of(item)
        assert source is not None
        assert (source.verb, source.lowest_tool or None) == ("mine", tool)
    needed = {each for group in GROUPS.values() for item in group.objects for each in milestones(item)} | set(
        CANDIDATES
    )
    found = {item for item in needed if (source := source_of(item)) and source.verb == "mine"}
    assert found <= set(mined)
