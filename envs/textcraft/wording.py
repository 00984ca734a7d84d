"""Reading what a plan gives an action: counts, items and whole commands, with the harmless variations that occur."""

import re

from planbook.envs.textcraft.book import Ingredient, Recipe

_COUNTED = re.compile(r"(?:([0-9]{1,6}) )?([a-z].*)")
_USING = " using "


class Refused(Exception):
    """An action cannot be done; the message is the reason as the plan is told it."""


def cleaned(text: str, leading: str = "") -> str:
    """The words of a text in small letters, without ``minecraft:``, underscores, and a leading word."""
    words = " ".join(text.lower().replace("minecraft:", "").replace("_", " ").split()).rstrip(".")
    return words.removeprefix(f"{leading} ") if leading else words


def counted(text: str, default: int | None = None) -> Ingredient:
    """``4 oak planks`` taken apart. Raises Refused where the count is missing, unless there is a default."""
    match = _COUNTED.fullmatch(text)
    if match is None:
        raise Refused(f"{text!r} is no count and item, such as '2 oak logs'")
    count = int(match[1]) if match[1] else default
    if count is None:
        raise Refused(f"say how many {match[2]}, such as '2 {match[2]}'")
    if count < 1:
        raise Refused(f"the count of {match[2]} must be 1 or more")
    return Ingredient(match[2], count)


def read_command(item: str, using: str = "") -> Recipe:
    """What a command says it makes, and of what; the two parts may come in one string. Raises Refused."""
    made, needs = cleaned(item, "craft"), cleaned(using, "using")
    if not needs:
        made, _, needs = made.partition(_USING)
    if not needs:
        raise Refused("name the ingredients: craft('4 oak planks', using='1 oak logs')")
    product = counted(made, default=1)
    return Recipe(product.name, product.count, tuple(counted(part.strip()) for part in needs.split(",")))
