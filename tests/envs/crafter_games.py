"""Games of Crafter for tests: the environment of the crafter package, a comparison of games, and random actions."""

import random
from collections.abc import Iterator
from typing import Any

import crafter

from planbook.envs import Action
from planbook.envs.crafter import Crafter
from planbook.envs.crafter.rules import CrafterAction, refusal
from planbook.planner.strategies.without_model import possible_choices
from tests.envs import playing

ALL_ACTIONS = possible_choices(Crafter())


class OriginalCrafter(crafter.Env):  # type: ignore[misc]
    """The environment of the crafter package, which draws pictures.

    The package picks the creature that vanishes from a set, whose order depends on memory addresses and so differs
    between runs. Here the creatures are sorted by age.
    """

    def _balance_chunk(self, chunk: Any, objs: Any) -> None:
        numbers = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda each: int(numbers[tuple(each.pos)])))


def started(seed: int = 0) -> Crafter:
    """Return an environment at the start of the game with this seed."""
    return playing.started(Crafter, f"survive/{seed}")


def random_actions(environment: Crafter, seed: int) -> Iterator[Action]:
    """Yield an endless sequence of actions: mostly possible ones, and sometimes any action."""
    rng = random.Random(seed)
    everything = [Action("move", (name,)) for name in ("north", "south", "east", "west")]
    everything += [Action("do"), Action("sleep"), Action("noop"), Action("place", ("table",))]
    everything += [Action("make", ("wood_pickaxe",)), Action("place", ("plant",)), Action("place", ("stone",))]
    while True:
        yield rng.choice(everything if rng.random() < 0.2 else possible_actions(environment))


def possible_actions(environment: Crafter) -> list[Action]:
    """Return the actions that would not be refused now."""
    return [act for act in ALL_ACTIONS if not refusal(environment.game, CrafterAction(act.name, *map(str, act.args)))]


def assert_same_game(first_game: Any, second_game: Any) -> None:
    """Assert that two games are in the same state, including that of their random numbers."""
    first, second = first_game._world, second_game._world
    assert (first._mat_map == second._mat_map).all()
    assert [_values(each) for each in first.objects] == [_values(each) for each in second.objects]
    assert list(first.chunks) == list(second.chunks)
    first_random, second_random = first.random.get_state(), second.random.get_state()
    assert first_random[2] == second_random[2]
    assert (first_random[1] == second_random[1]).all()
    assert first.daylight == second.daylight


def _values(thing: Any) -> dict[str, object]:
    plain = {name: value for name, value in vars(thing).items() if name not in ("world", "random", "player")}
    return {**plain, "pos": tuple(thing.pos), "facing": tuple(plain.get("facing", ())), "class": type(thing).__name__}
