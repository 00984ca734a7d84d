"""Knowledge for planners: goals for a selector (DEPS), and preconditions for the dry run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from planbook.envs.optional import Goals
from planbook.envs.preconditions import UNKNOWN, Change, Deed, Fact, Given, Need, Preconditions, deed_from_rules
from planbook.envs.textcraft.recipes import (
    Bench,
    CraftingCommand,
    CraftingRefused,
    Ingredient,
    normalize,
    read_command,
    read_item,
)
from planbook.envs.types import Action

if TYPE_CHECKING:
    from planbook.envs.textcraft.environment import Textcraft


KNOWN, MAX_WAYS = 2_000, 30
"""Maximum number of goals that a line may be matched to, in all and from one command."""


class TextcraftGoals(Goals):
    """The goals of TextCraft: getting is always possible; crafting uses ingredients, and often has alternatives."""

    environment: "Textcraft"

    def refusal(self, goal: Action) -> str:
        """Return the reason why the environment would refuse the action now."""
        try:
            self.environment.check(goal)
        except CraftingRefused as reason:
            return str(reason)
        return ""

    def is_open(self, goal: Action) -> bool:
        """Return whether the stated ingredients are carried."""
        carried = self.environment.carried
        return all(carried.get(item, 0) >= count for item, count in self.materials(goal).items())

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return the stated ingredients of a crafting command; nothing for getting."""
        if goal.name != "craft":
            return {}
        try:
            return {need.name: need.count for need in read_command(*map(str, goal.args)).needs}
        except CraftingRefused:
            return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return the goal, then the shown commands for the same item, with each choice of obtainable ingredients."""
        if goal.name != "craft":
            return (goal,)
        try:
            recipe, needs = self.environment.bench.crafting(*map(str, goal.args))
        except CraftingRefused:
            return (goal,)
        same = _action(recipe.makes, recipe.count, [str(need) for need in needs])
        others = [action for other in self.environment.bench.making(recipe.makes) for action in self._ways(other)]
        return (goal, *(other for other in dict.fromkeys(others) if other != same))

    def known(self) -> Sequence[Action]:
        """Return up to KNOWN goals: to get each base item of the shown commands, and to carry out each command.

        A command that uses kinds of items is listed with up to MAX_WAYS choices of obtainable ingredients.
        """
        book, recipes = self.environment.bench.book, self.environment.bench.shown
        used = dict.fromkeys(item for recipe in recipes for need in recipe.needs for item in book.choices(need.name))
        gets = [Action("get", (f"1 {item}",)) for item in used if not book.is_craftable(item)]
        crafts = (way for recipe in recipes for way in islice(self._ways(recipe), MAX_WAYS))
        return [*gets, *crafts][:KNOWN]

    def times(self, goal: Action, count: int) -> Action:
        """Return the goal to get this many at once; a command as it is, since its count is fixed."""
        if goal.name != "get":
            return goal
        return Action("get", (f"{count} {read_item(normalize(str(goal.args[0])), default=1).name}",))

    def _ways(self, recipe: CraftingCommand) -> Iterator[Action]:
        """Yield a recipe as commands, one for each choice of obtainable ingredients."""
        carried = self.environment.carried
        choices = [
            [
                f"{need.count} {item}"
                for item in self.environment.bench.book.choices(need.name)
                if self._obtainable(item, carried)
            ]
            for need in recipe.needs
        ]
        return (_action(recipe.makes, recipe.count, using) for using in product(*choices))

    def _obtainable(self, item: str, carried: Mapping[str, int]) -> bool:
        return (
            item in carried
            or not self.environment.bench.book.is_craftable(item)
            or bool(self.environment.bench.making(item))
        )


def _action(item: str, count: int, using: Sequence[str]) -> Action:
    return Action("craft", (f"{count} {item}", ", ".join(using)))


def preconditions(bench: Bench) -> Preconditions:
    """Return the preconditions of a task's actions; the inventory is empty at the start."""

    def get(item: Given) -> Deed:
        ingredient = bench.gettable(item)
        return Deed(changes=[Change.by(_carried_fact(ingredient.name), ingredient.count)], sure=True)

    def craft(item: Given, using: Given) -> Deed:
        recipe, needs = bench.crafting(item, using)
        used = [Change.by(_carried_fact(need.name), -need.count) for need in needs]
        product = Change.by(_carried_fact(recipe.makes), recipe.count)
        return Deed([_enough(need) for need in needs], [*used, product], sure=True)

    ways: Mapping[str, Callable[..., Deed]] = {"get": get, "craft": craft}
    deeds = {name: deed_from_rules(way, CraftingRefused, unclear=_carried_fact(UNKNOWN)) for name, way in ways.items()}
    return Preconditions(deeds, defaults={"carried": 0})


def _carried_fact(item: Given) -> Fact:
    return Fact("carried", (item,))


def _enough(need: Ingredient) -> Need:
    why = f"not enough, this takes {need}, and {{now}} are carried then"
    return Need.at_least(_carried_fact(need.name), need.count, why)
