"""Games of Crafter for tests: the genuine environment beside ours, and players that last long enough."""

import random
from collections.abc import Iterator
from typing import Any

import crafter

from planbook.envs import Action, Task
from planbook.envs.crafter import Crafter
from planbook.envs.crafter.environment import task_of


class Genuine(crafter.Env):  # type: ignore[misc]
    """The package's own environment, pictures and all.

    It picks the creature of a region that vanishes from a set, in the order of memory addresses, which differ from run
    to run; so this one thing is put in order: the creatures as they came to be.
    """

    def _balance_chunk(self, chunk: Any, objs: Any) -> None:
        numbers = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda each: int(numbers[tuple(each.pos)])))


def survive(seed: int = 0) -> Task:
    return task_of("survive", seed)


def begun(seed: int = 0, **options: int) -> Crafter:
    world = Crafter(Crafter.Options(**options))
    world.reset(survive(seed))
    return world


def wild(world: Crafter, seed: int) -> Iterator[Action]:
    """What a restless player does next, for ever: now and then anything, mostly what can be done."""
    dice = random.Random(seed)
    everything = [Action("move", (name,)) for name in ("north", "south", "east", "west")]
    everything += [Action("do"), Action("sleep"), Action("noop"), Action("place", ("table",))]
    everything += [Action("make", ("wood_pickaxe",)), Action("place", ("plant",)), Action("place", ("stone",))]
    while True:
        possible = world.possible_actions()
        assert possible
        yield dice.choice(everything if dice.random() < 0.2 else possible)


def look_alike(one: Any, other: Any) -> None:
    """Hold two games of the package's classes against each other, down to the random stream."""
    mine, theirs = one._world, other._world
    assert (mine._mat_map == theirs._mat_map).all()
    assert [_told(each) for each in mine.objects] == [_told(each) for each in theirs.objects]
    assert list(mine.chunks) == list(theirs.chunks)
    mine_at, theirs_at = mine.random.get_state(), theirs.random.get_state()
    assert mine_at[2] == theirs_at[2]
    assert (mine_at[1] == theirs_at[1]).all()
    assert mine.daylight == theirs.daylight


def _told(thing: Any) -> dict[str, object]:
    plain = {name: value for name, value in vars(thing).items() if name not in ("world", "random", "player")}
    return {**plain, "pos": tuple(thing.pos), "facing": tuple(plain.get("facing", ())), "class": type(thing).__name__}
