"""What planners may know about TextCraft: the goals for the method DEPS, and the preconditions of actions.

DEPS chooses among goals. The preconditions let a dry run check a plan before it runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from planbook.envs.optional import Goals
from planbook.envs.preconditions import UNKNOWN, ArgValue, Change, Contract, Fact, Need, Preconditions, rule_contract
from planbook.envs.textcraft.recipes import (
    Bench,
    CraftingCommand,
    CraftingRefused,
    Ingredient,
    check_carried,
    normalize,
    read_command,
    read_item,
)
from planbook.envs.types import Action

if TYPE_CHECKING:
    from planbook.envs.textcraft.environment import Textcraft


MAX_GOALS, MAX_VARIANTS = 2_000, 30
"""Maximum number of goals that may replace an invalid line of a plan: in total, and for one crafting command."""


class TextcraftGoals(Goals):
    """The goals of TextCraft. A goal is to get an item, or to carry out a crafting command."""

    environment: "Textcraft"

    def refusal(self, goal: Action) -> str:
        """Return the reason why the environment would refuse the action now, or ""."""
        bench, args = self.environment.bench, map(str, goal.args)
        try:
            if goal.name == "get":
                bench.parse_get(*args)
            else:
                check_carried(self.environment.carried, bench.parse_craft(*args)[1])
        except CraftingRefused as reason:
            return str(reason)
        return ""

    def is_open(self, goal: Action) -> bool:
        """Return whether the agent carries the ingredients that the goal states."""
        carried = self.environment.carried
        return all(carried.get(item, 0) >= count for item, count in self.materials(goal).items())

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return the ingredients that a crafting command states. Getting an item uses none."""
        if goal.name != "craft":
            return {}
        try:
            return {need.name: need.count for need in read_command(*map(str, goal.args)).needs}
        except CraftingRefused:
            return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return the goal, and then the shown commands that make the same item.

        A command that uses kinds of items is returned once for each choice of obtainable ingredients.
        """
        if goal.name != "craft":
            return (goal,)
        try:
            recipe, needs = self.environment.bench.parse_craft(*map(str, goal.args))
        except CraftingRefused:
            return (goal,)
        normalized = _action(recipe.makes, recipe.count, [str(need) for need in needs])
        commands = self.environment.bench.commands_for(recipe.makes)
        routes = dict.fromkeys(variant for command in commands for variant in self._variants(command))
        return (goal, *(route for route in routes if route != normalized))

    def known(self) -> Sequence[Action]:
        """Return up to MAX_GOALS goals: to get each item that the shown commands need, and to carry out each command.

        Items that must be crafted are left out. A command that uses kinds of items is returned for up to MAX_VARIANTS
        choices of obtainable ingredients.
        """
        book, recipes = self.environment.bench.book, self.environment.bench.shown
        used = dict.fromkeys(item for recipe in recipes for need in recipe.needs for item in book.choices(need.name))
        gets = [Action("get", (f"1 {item}",)) for item in used if not book.is_craftable(item)]
        crafts = (variant for recipe in recipes for variant in islice(self._variants(recipe), MAX_VARIANTS))
        return [*gets, *crafts][:MAX_GOALS]

    def times(self, goal: Action, count: int) -> Action:
        """Return the goal to get this many of the item. A crafting command is unchanged, since its count is fixed."""
        if goal.name != "get":
            return goal
        return Action("get", (f"{count} {read_item(normalize(str(goal.args[0])), default=1).name}",))

    def _variants(self, recipe: CraftingCommand) -> Iterator[Action]:
        """Yield the commands for a recipe, one for each choice of obtainable ingredients."""
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
            or bool(self.environment.bench.commands_for(item))
        )


def _action(item: str, count: int, using: Sequence[str]) -> Action:
    return Action("craft", (f"{count} {item}", ", ".join(using)))


def preconditions(bench: Bench) -> Preconditions:
    """Return the preconditions of a task's actions. At the start the inventory is empty."""

    def get(item: ArgValue) -> Contract:
        ingredient = bench.parse_get(item)
        return Contract(changes=[Change.add(_carried_fact(ingredient.name), ingredient.count)], sure=True)

    def craft(item: ArgValue, using: ArgValue) -> Contract:
        recipe, needs = bench.parse_craft(item, using)
        used = [Change.add(_carried_fact(need.name), -need.count) for need in needs]
        product = Change.add(_carried_fact(recipe.makes), recipe.count)
        return Contract([_enough(need) for need in needs], [*used, product], sure=True)

    rules: Mapping[str, Callable[..., Contract]] = {"get": get, "craft": craft}
    contracts = {name: rule_contract(rule, CraftingRefused, _carried_fact(UNKNOWN)) for name, rule in rules.items()}
    return Preconditions(contracts, defaults={"carried": 0})


def _carried_fact(item: ArgValue) -> Fact:
    return Fact("carried", (item,))


def _enough(need: Ingredient) -> Need:
    reason = f"not enough, this takes {need}, and {{now}} are carried then"
    return Need.at_least(_carried_fact(need.name), need.count, reason)
