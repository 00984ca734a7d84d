"""The original game without its pictures: the same, step for step, as ``crafter.Env`` with its default options.

Drawing a picture at night consumes numbers of the game's random stream, so they are consumed here, too. One thing is
made reproducible: to remove one of a region's creatures, the package picks it from a set in the order of memory
addresses, which differ between runs. Here, the creatures are in the order of their creation.
"""

import pickle
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from crafter import constants
from crafter.engine import World
from crafter.env import Env

AREA = (64, 64)
VIEW = (9, 9)
"""Columns and rows; two of the nine rows show the inventory."""
CHUNK = (12, 12)
PIXELS = 63 * 49
"""Number of pixels of the picture that show land, each of which gets random noise in the dark."""
DARK = 0.5


class CrafterGame(Env):  # type: ignore[misc]
    """One game, begun on construction. ``save`` and ``load`` copy everything that the next steps depend on."""

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
        """The sum of rewards: 1 for each step that unlocks an achievement, and a tenth of each change in health."""
        return float(self.tenths / 10)

    @property
    def dead(self) -> bool:
        """True if the player died."""
        return bool(self._player.health <= 0)

    @property
    def over(self) -> bool:
        """True if the game's time is up."""
        return bool(self._step >= self._length)

    def advance(self, action: str) -> None:
        """Take one step of the game, with an action by the game's name."""
        _, reward, *_ = self.step(constants.actions.index(action))
        self.tenths += round(10 * reward)
        counts = self._player.achievements
        self.unlocked += [name for name, count in counts.items() if count and name not in self.unlocked]

    def save(self) -> bytes:
        """Return a copy that shares nothing with the game."""
        health = self._last_health
        return pickle.dumps((self._world, self._player, self._step, self.tenths, health, self.unlocked))

    def load(self, saved: bytes) -> None:
        """Restore a copy that ``save`` made of this or another game."""
        self._world, self._player, self._step, self.tenths, self._last_health, self.unlocked = pickle.loads(saved)
        self._unlocked = set(self.unlocked)

    def render(self, size: Any = None) -> None:
        """Draw nothing, but consume the random numbers that drawing would."""
        if self._world.daylight < DARK:
            self._world.random.random_sample(PIXELS)

    def _sem_view(self) -> None:
        """Skip the package's semantic map."""

    def _balance_chunk(self, chunk: Any, objs: Iterable[Any]) -> None:
        numbers = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda thing: int(numbers[tuple(thing.pos)])))


@lru_cache(maxsize=16)
def _start_of_game(seed: int) -> bytes:
    """Return a saved game at its start. It is cached, since generating a map takes about a second."""
    game = CrafterGame.__new__(CrafterGame)
    game._seed, game._episode = seed, 0
    game._world = World(AREA, constants.materials, CHUNK)
    game.tenths, game.unlocked = 0, list[str]()
    game.reset()
    return game.save()
