"""Items, kinds of items, and the recipes between them. All names are as commands write them: ``oak planks``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ingredient:
    """So many of an item; in a recipe ``name`` may be a kind, which stands for any one member of it."""

    name: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} {self.name}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One crafting command: what it makes and of what. No item is asked for twice in one recipe."""

    makes: str
    count: int
    needs: tuple[Ingredient, ...]

    def __str__(self) -> str:
        return f"craft {self.count} {self.makes} using {', '.join(map(str, self.needs))}"


@dataclass(frozen=True)
class Book:
    """All there is to know about items. ``depths`` counts the recipes in a row that lead to an item at least."""

    recipes: Mapping[str, Sequence[Recipe]]
    items: frozenset[str]
    kinds: Mapping[str, Sequence[str]]
    """The members of each kind; some kinds only group recipes and have none."""
    depths: Mapping[str, int]

    def is_craftable(self, item: str) -> bool:
        """Whether a recipe makes it, so that it cannot be got."""
        return item in self.recipes

    def choices(self, name: str) -> Sequence[str]:
        """The items that serve where a recipe says ``name``."""
        return self.kinds.get(name, (name,))

    def fitting(self, item: str, using: Sequence[Ingredient]) -> Recipe | None:
        """The recipe that makes the item from exactly these."""
        return next((recipe for recipe in self.recipes.get(item, ()) if self._fits(recipe, using)), None)

    def _fits(self, recipe: Recipe, using: Sequence[Ingredient]) -> bool:
        left = list(using)
        for need in recipe.needs:
            choices = self.choices(need.name)
            match = next((each for each in left if each.name in choices and each.count == need.count), None)
            if match is None:
                return False
            left.remove(match)
        return not left

    def tree(self, item: str) -> list[Recipe]:
        """Every recipe that can play a part in crafting the item, its own first."""
        found: dict[Recipe, None] = {}
        waiting, seen = [item], set[str]()
        while waiting:
            name = waiting.pop(0)
            if name in seen:
                continue
            seen.add(name)
            for recipe in self._making(name):
                found[recipe] = None
                waiting.extend(need.name for need in recipe.needs)
        return list(found)

    def uses(self, name: str) -> list[Recipe]:
        """The recipes that ask for an item or a kind by this name."""
        return [recipe for recipe in self.all() if any(need.name == name for need in recipe.needs)]

    def all(self) -> Iterator[Recipe]:
        """Every recipe, by item."""
        return (recipe for recipes in self.recipes.values() for recipe in recipes)

    def _making(self, name: str) -> Iterator[Recipe]:
        return (recipe for item in self.choices(name) for recipe in self.recipes.get(item, ()))
