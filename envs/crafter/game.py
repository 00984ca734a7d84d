"""The original game without its pictures.

Every step has the same result as in ``crafter.Env`` with its default options. At night, drawing a picture consumes
numbers from the game's random number generator, so the same numbers are consumed here.

There is one difference, which makes games reproducible. When the package removes a creature from a region, it picks one
from a set. The order of the set depends on memory addresses, which differ between runs. Here, the creatures are first
sorted in the order of their creation.
"""

import copyreg
import io
import pickle
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from crafter import constants
from crafter.engine import World
from crafter.env import Env

AREA = (64, 64)
"""The size of the map."""
VIEW = (9, 9)
"""Columns and rows of a picture. Two of the nine rows show the inventory."""
CHUNK = (12, 12)
"""The size of a region, in which the package keeps the number of creatures in balance."""
PIXELS = 63 * 49
"""Number of pixels of a picture that show land. In the dark, random noise is added to each of them."""
DARK = 0.5
"""The amount of daylight below which it counts as dark."""


class CrafterGame(Env):  # type: ignore[misc]
    """One game, which starts when the object is created.

    ``save`` and ``load`` copy everything that the next steps depend on.
    """

    def __init__(self, seed: int, length: int) -> None:
        self._length, self._view, self._reward = length, VIEW, True
        self.load(_start_of_game(seed))

    @property
    def land(self) -> Any:
        """The package's map."""
        return self._world

    @property
    def player(self) -> Any:
        """The package's player object."""
        return self._player

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return int(self._step)

    @property
    def reward(self) -> float:
        """The sum of the rewards: 1 for each step that unlocks an achievement, and a tenth of each change in health."""
        return float(self.tenths / 10)

    @property
    def dead(self) -> bool:
        """True if the player died."""
        return bool(self._player.health <= 0)

    @property
    def time_is_up(self) -> bool:
        """True if the game's time is up."""
        return bool(self._step >= self._length)

    def advance(self, action: str) -> None:
        """Take one step of the game. ``action`` is the game's name of an action."""
        _, reward, *_ = self.step(constants.actions.index(action))
        self.tenths += round(10 * reward)
        counts = self._player.achievements
        self.unlocked += [name for name, count in counts.items() if count and name not in self.unlocked]

    def save(self) -> bytes:
        """Return a copy of the game's state as bytes."""
        file = io.BytesIO()
        state = self._world, self._player, self._step, self.tenths, self._last_health, self.unlocked
        _GamePickler(file).dump(state)
        return file.getvalue()

    def load(self, saved: bytes) -> None:
        """Restore a state that ``save`` returned for this game or another one."""
        self._world, self._player, self._step, self.tenths, self._last_health, self.unlocked = pickle.loads(saved)
        self._unlocked = set(self.unlocked)

    def render(self, size: Any = None) -> None:
        """Draw nothing, but consume the random numbers that drawing would consume."""
        if self._world.daylight < DARK:
            self._world.random.random_sample(PIXELS)

    def _sem_view(self) -> None:
        """Skip the package's semantic map."""

    def _balance_chunk(self, chunk: Any, objs: Iterable[Any]) -> None:
        numbers = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda thing: int(numbers[tuple(thing.pos)])))


def _reduce_array(array: Any) -> Any:
    """Return how to restore an array. Positions are restored from lists, since numpy's own way is much slower."""
    is_position = array.ndim == 1 and array.dtype == int
    return (np.array, (array.tolist(),)) if is_position else array.__reduce__()


def _restore_random(state: Any) -> Any:
    generator = np.random.RandomState(0)
    generator.set_state(state)
    return generator


class _GamePickler(pickle.Pickler):
    """Pickles a game in half the time of the default, since search methods save and restore games often."""

    dispatch_table = copyreg.dispatch_table | {
        np.ndarray: _reduce_array,
        np.int64: lambda number: (int, (int(number),)),
        np.random.RandomState: lambda generator: (_restore_random, (generator.get_state(),)),
    }


@lru_cache(maxsize=16)
def _start_of_game(seed: int) -> bytes:
    """Return the saved state of a game at its start. It is cached, since generating a map takes about a second."""
    game = CrafterGame.__new__(CrafterGame)
    game._seed, game._episode = seed, 0
    game._world = World(AREA, constants.materials, CHUNK)
    game.tenths, game.unlocked = 0, list[str]()
    game.reset()
    return game.save()
