"""What getting and crafting need: the recipes, and what is carried."""

from collections.abc import Callable, Mapping

from planbook.envs.preconditions import UNKNOWN, Change, Deed, Fact, Given, Need, Preconditions, told_by
from planbook.envs.textcraft.bench import Bench
from planbook.envs.textcraft.book import Ingredient
from planbook.envs.textcraft.wording import Refused


def preconditions(bench: Bench) -> Preconditions:
    """What a task's actions need; nothing is carried at the start."""

    def get(item: Given) -> Deed:
        got = bench.gettable(item)
        return Deed(changes=[Change.by(_carried(got.name), got.count)], sure=True)

    def craft(item: Given, using: Given) -> Deed:
        recipe, needs = bench.crafting(item, using)
        used = [Change.by(_carried(need.name), -need.count) for need in needs]
        made = Change.by(_carried(recipe.makes), recipe.count)
        return Deed([_enough(need) for need in needs], [*used, made], sure=True)

    ways: Mapping[str, Callable[..., Deed]] = {"get": get, "craft": craft}
    deeds = {name: told_by(way, Refused, unclear=_carried(UNKNOWN)) for name, way in ways.items()}
    return Preconditions(deeds, usual={"carried": 0})


def _carried(item: Given) -> Fact:
    return Fact("carried", (item,))


def _enough(need: Ingredient) -> Need:
    why = f"not enough, this takes {need}, and {{now}} are carried then"
    return Need.at_least(_carried(need.name), need.count, why)
