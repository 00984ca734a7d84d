"""The original Crafter game, without its pictures.

Every step has the same result as in ``crafter.Env`` with its default options. When the original draws a picture at
night, it takes numbers from the game's random number generator, so this module takes them, too.

One difference makes games reproducible. When the package removes a creature from a region, it picks the creature from a
set. The order of the set depends on memory addresses, which differ between runs. Here, the creatures are first sorted
in the order of their creation.
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

LENGTH = 10_000
"""The number of steps after which the game's time is up."""
AREA = (64, 64)
"""The size of the map, in squares."""
VIEW = (9, 9)
"""The number of columns and of rows in a picture. Two of the nine rows show the inventory."""
CHUNK = (12, 12)
"""The size of a region, in squares. The package balances the number of creatures in each region."""
PIXELS = 63 * 49
"""Number of pixels in a picture that show the map. When it is dark, the package adds random noise to each of them."""
DARK = 0.5
"""It is dark if the amount of daylight, from 0 to 1, is below this value."""


class CrafterGame(Env):  # type: ignore[misc]
    """One game, which starts when the object is created.

    ``save`` and ``load`` copy everything on which the next steps depend.
    """

    def __init__(self, seed: int) -> None:
        self._length, self._view, self._reward = LENGTH, VIEW, True
        self.load(_initial_state(seed))

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
        """The sum of the rewards so far.

        The reward of a step is a tenth of its change in health, plus 1 if the step unlocks an achievement.
        """
        return float(self.reward_tenths / 10)

    @property
    def is_dead(self) -> bool:
        """True if the player has died."""
        return bool(self._player.health <= 0)

    @property
    def is_time_up(self) -> bool:
        """True if the maximum number of steps has been taken."""
        return bool(self._step >= self._length)

    def advance(self, action: str) -> None:
        """Take one step of the game. ``action`` is the game's name for an action."""
        _, reward, *_ = self.step(constants.actions.index(action))
        self.reward_tenths += round(10 * reward)
        counts = self._player.achievements
        self.unlocked += [name for name, count in counts.items() if count and name not in self.unlocked]

    def save(self) -> bytes:
        """Return a copy of the game's state as bytes."""
        file = io.BytesIO()
        state = self._world, self._player, self._step, self.reward_tenths, self._last_health, self.unlocked
        _GamePickler(file).dump(state)
        return file.getvalue()

    def load(self, saved: bytes) -> None:
        """Restore a state that ``save`` returned, even if it is the state of another game."""
        state = pickle.loads(saved)
        self._world, self._player, self._step, self.reward_tenths, self._last_health, self.unlocked = state
        self._unlocked = set(self.unlocked)

    def render(self, size: Any = None) -> None:
        """Draw nothing, but take the random numbers that drawing would take."""
        if self._world.daylight < DARK:
            self._world.random.random_sample(PIXELS)

    def _sem_view(self) -> None:
        """Do nothing, since the package's semantic map is not needed."""

    def _balance_chunk(self, chunk: Any, objs: Iterable[Any]) -> None:
        numbers = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda thing: int(numbers[tuple(thing.pos)])))


def _reduce_array(array: Any) -> Any:
    """Return what pickle needs to restore an array. Positions are pickled as lists: numpy's own way is slower."""
    is_position = array.ndim == 1 and array.dtype == int
    return (np.array, (array.tolist(),)) if is_position else array.__reduce__()


def _restore_random(state: Any) -> Any:
    generator = np.random.RandomState(0)
    generator.set_state(state)
    return generator


class _GamePickler(pickle.Pickler):
    """Pickles a game in half the time that the default pickler takes. Search methods save and restore games often."""

    dispatch_table = copyreg.dispatch_table | {
        np.ndarray: _reduce_array,
        np.int64: lambda number: (int, (int(number),)),
        np.random.RandomState: lambda generator: (_restore_random, (generator.get_state(),)),
    }


@lru_cache(maxsize=16)
def _initial_state(seed: int) -> bytes:
    """Return the initial state of a game, in the form that ``save`` returns.

    It is cached, since generating a map takes about a second.
    """
    game = CrafterGame.__new__(CrafterGame)
    game._seed, game._episode = seed, 0
    game._world = World(AREA, constants.materials, CHUNK)
    game.reward_tenths, game.unlocked = 0, list[str]()
    game.reset()
    return game.save()
