"""What getting and crafting need: the recipes, and what is carried."""

from collections.abc import Callable

from envs.preconditions import UNKNOWN, Change, Deed, Fact, Given, Need, Preconditions
from envs.textcraft.bench import Bench
from envs.textcraft.book import Ingredient
from envs.textcraft.wording import Refused


def preconditions(bench: Bench) -> Preconditions:
    """What a task's actions need; nothing is carried at the start."""

    def get(item: Given) -> Deed:
        if item is UNKNOWN:
            return Deed(changes=[Change(_carried(UNKNOWN), UNKNOWN)])
        try:
            got = bench.gettable(item)
        except Refused as why:
            return Deed(impossible=str(why))
        return Deed(changes=[Change(_carried(got.name), _more(got.count))], sure=True)

    def craft(item: Given, using: Given) -> Deed:
        if item is UNKNOWN or using is UNKNOWN:
            return Deed(changes=[Change(_carried(UNKNOWN), UNKNOWN)])
        try:
            recipe, needs = bench.crafting(item, using)
        except Refused as why:
            return Deed(impossible=str(why))
        used = [Change(_carried(need.name), _more(-need.count)) for need in needs]
        made = Change(_carried(recipe.makes), _more(recipe.count))
        return Deed([_enough(need) for need in needs], [*used, made], sure=True)

    return Preconditions({"get": get, "craft": craft}, usual={"carried": 0})


def _carried(item: Given) -> Fact:
    return Fact("carried", (item,))


def _more(count: int) -> Callable[[int], int]:
    return lambda carried: carried + count


def _enough(need: Ingredient) -> Need:
    why = f"not enough, this takes {need}, and {{now}} are carried then"
    return Need.that(_carried(need.name), lambda carried: carried >= need.count, why)
