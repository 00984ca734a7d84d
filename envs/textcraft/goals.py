"""What a selector may ask about getting and crafting."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from envs.goals import Goals
from envs.textcraft.bench import Bench
from envs.textcraft.book import Recipe
from envs.textcraft.wording import Refused
from envs.types import Action

if TYPE_CHECKING:
    from envs.textcraft.world import Textcraft


class TextcraftGoals(Goals):
    """Getting is always possible; crafting uses up what it takes, and often has other commands or members to offer."""

    def __init__(self, world: "Textcraft") -> None:
        super().__init__(world)
        self._textcraft = world

    @property
    def _bench(self) -> Bench:
        return self._textcraft.bench

    def refusal(self, goal: Action) -> str:
        """Why the world would refuse the action now."""
        try:
            self._textcraft.check(goal)
        except Refused as reason:
            return str(reason)
        return ""

    def materials(self, goal: Action) -> Mapping[str, int]:
        """What crafting takes; nothing for getting, and for what is no proper command."""
        if goal.name != "craft":
            return {}
        try:
            _, needs = self._bench.crafting(*map(str, goal.args))
        except Refused:
            return {}
        return {need.name: need.count for need in needs}

    def routes(self, goal: Action) -> Sequence[Action]:
        """The command itself, then all shown ones that make the same item, with each member that can be had."""
        if goal.name != "craft":
            return (goal,)
        try:
            recipe, needs = self._bench.crafting(*map(str, goal.args))
        except Refused:
            return (goal,)
        own = _action(recipe.makes, recipe.count, [str(need) for need in needs])
        others = [action for other in self._bench.making(recipe.makes) for action in self._ways(other)]
        return (goal, *(other for other in dict.fromkeys(others) if other != own))

    def _ways(self, recipe: Recipe) -> list[Action]:
        """A recipe as commands: where it asks for a kind, one for each member that can be had."""
        carried = self._textcraft.carried
        choices = [
            [f"{need.count} {item}" for item in self._bench.book.choices(need.name) if self._can_be_had(item, carried)]
            for need in recipe.needs
        ]
        return [_action(recipe.makes, recipe.count, using) for using in product(*choices)]

    def _can_be_had(self, item: str, carried: Mapping[str, int]) -> bool:
        return item in carried or not self._bench.book.is_craftable(item) or bool(self._bench.making(item))


def _action(item: str, count: int, using: Sequence[str]) -> Action:
    return Action("craft", (f"{count} {item}", ", ".join(using)))
