"""What can be got and crafted, and why the rest cannot."""

from collections.abc import Mapping, Sequence

from planbook.envs.textcraft.book import Book, Ingredient, Recipe
from planbook.envs.textcraft.wording import Refused, cleaned, counted, read_command

_NAMED = 4
"""How many members of a kind an example names at most."""


class Bench:
    """The book, and the commands that the player was shown: reasons tell no recipe that it was not."""

    def __init__(self, book: Book, shown: Sequence[Recipe]) -> None:
        self.book, self.shown = book, shown

    def gettable(self, text: str) -> Ingredient:
        """So many of an item that can be got. Raises Refused."""
        wanted = counted(cleaned(text, "get"))
        self._check_item(wanted.name)
        if self.book.is_craftable(wanted.name):
            raise Refused(f"{wanted.name} cannot be got, it has to be crafted{self._told(': ', wanted.name)}")
        return wanted

    def crafting(self, item: str, using: str = "") -> tuple[Recipe, tuple[Ingredient, ...]]:
        """The recipe that a command means, and what it takes. Raises Refused unless all counts are the recipe's."""
        command = read_command(item, using)
        self._check_item(command.makes)
        if not self.book.is_craftable(command.makes):
            raise Refused(f"{command.makes} cannot be crafted, it has to be got")
        for need in command.needs:
            self._check_item(need.name)
        recipe = self.book.fitting(command.makes, command.needs)
        if recipe is None:
            given = ", ".join(map(str, command.needs))
            told = self._told("; one reads: ", command.makes) + self._kinds_told(command.makes)
            raise Refused(f"no recipe makes {command.makes} from exactly {given}{told}")
        return recipe, command.needs

    def making(self, item: str) -> list[Recipe]:
        """The commands shown that make an item."""
        return [recipe for recipe in self.shown if recipe.makes == item]

    def _check_item(self, name: str) -> None:
        if name in self.book.kinds:
            raise Refused(f"{name} is a kind of item, so name one of that kind{self._such_as(name)}")
        if name not in self.book.items:
            raise Refused(f"there is no item called {name!r}")

    def _such_as(self, kind: str) -> str:
        members = self.book.kinds[kind]
        shown = {recipe.makes for recipe in self.shown}
        named = sorted(members, key=lambda item: item not in shown)[:_NAMED]
        return f", such as {', '.join(named)}" if named else ""

    def _told(self, lead: str, item: str) -> str:
        commands = self.making(item)
        return f"{lead}{', or '.join(map(str, commands))}" if commands else ""

    def _kinds_told(self, item: str) -> str:
        """All members of the kinds that the item's commands ask for: not every wool is of the kind wool."""
        names = dict.fromkeys(need.name for recipe in self.making(item) for need in recipe.needs)
        kinds = [name for name in names if name in self.book.kinds]
        return "".join(f"; {kind} is any of: {', '.join(self.book.kinds[kind])}" for kind in kinds)


def check_carried(carried: Mapping[str, int], needs: Sequence[Ingredient]) -> None:
    """Raises Refused, naming everything that there is not enough of."""
    short = [need for need in needs if carried.get(need.name, 0) < need.count]
    if short:
        told = ", ".join(f"{need} ({carried.get(need.name, 0)} carried)" for need in short)
        raise Refused(f"not enough, this takes {told}")
