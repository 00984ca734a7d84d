"""The genuine game without its pictures: the same, step for step, as ``crafter.Env`` with its default options.

Drawing at night takes numbers from the game's random stream, so this game takes them, too. One thing is fixed that
the game leaves open: when one of a region's creatures vanishes, the game picks it from a set in the order of memory
addresses, which differ between runs. Here the creatures are in the order of their creation.
"""

import pickle
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from types import FunctionType
from typing import Any

import numpy as np
from crafter import constants, objects, worldgen
from crafter.engine import World
from crafter.env import Env
from crafter.worldgen import opensimplex

Table = list[int]
Gradient = tuple[int, int, int]


class Noise:
    """A faster ``opensimplex.OpenSimplex`` for generating a map."""

    def __init__(self, seed: int) -> None:
        drawn = opensimplex.OpenSimplex(seed)
        gradients = opensimplex.internals.GRADIENTS3.tolist()
        self._permutation: Table = drawn._perm.tolist()
        self._gradients = [_gradient(gradients, start) for start in drawn._perm_grad_index3.tolist()]
        self._value = _noise_function()

    def noise3(self, x: float, y: float, z: float) -> float:
        """Return the noise at a point, between -1 and 1."""
        return self._value(x, y, z, self._permutation, self._gradients)


def _gradient(flat: list[int], start: int) -> Gradient:
    return flat[start], flat[start + 1], flat[start + 2]


@cache
def _noise_function() -> Callable[[float, float, float, Table, list[Gradient]], float]:
    """Return the package's noise function with our lookup of gradients."""
    internals = opensimplex.internals
    plain: Any = getattr(internals._noise3, "py_func", internals._noise3)  # numba, if installed, wraps it
    return FunctionType(plain.__code__, {**vars(internals), "_extrapolate3": _extrapolate})


def _extrapolate(
    permutation: Table, gradients: list[Gradient], xsb: int, ysb: int, zsb: int, dx: float, dy: float, dz: float
) -> float:
    corner = permutation[(permutation[xsb & 0xFF] + ysb) & 0xFF]
    gx, gy, gz = gradients[(corner + zsb) & 0xFF]
    return gx * dx + gy * dy + gz * dz


AREA = (64, 64)
VIEW = (9, 9)
"""Columns and rows; two of the nine rows show the inventory."""
CHUNK = (12, 12)
PIXELS = 63 * 49
"""Size of the picture's land part, for which darkness draws noise."""
DARK = 0.5


class CrafterGame(Env):  # type: ignore[misc]
    """One game, begun on construction. ``save`` and ``load`` copy everything that the next steps depend on."""

    def __init__(self, seed: int, length: int) -> None:
        self._seed, self._length, self._area, self._view, self._reward = seed, length, AREA, VIEW, True
        self.load(_start_of_game(seed))

    @property
    def land(self) -> Any:
        """The package's map."""
        return self._world

    @property
    def materials(self) -> Any:
        """The number of each place's material, by x and y."""
        return self._world._mat_map

    @property
    def names(self) -> Mapping[int, str]:
        """The name of each material, by number."""
        names: Mapping[int, str] = self._world._mat_names
        return names

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
        """The sum of the game's rewards: 1 for a step that unlocks, 0.1 for each point of health."""
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
        """Restore a copy, of this game or of another."""
        self._world, self._player, self._step, self.tenths, self._last_health, self.unlocked = pickle.loads(saved)
        self._unlocked = set(self.unlocked)

    def render(self, size: Any = None) -> None:
        """Draw the random numbers that the picture would take."""
        if self._world.daylight < DARK:
            self._world.random.random_sample(PIXELS)

    def _sem_view(self) -> None:
        """Skip the package's semantic map."""

    def _balance_chunk(self, chunk: Any, objs: Iterable[Any]) -> None:
        numbers = self._world._obj_map
        super()._balance_chunk(chunk, sorted(objs, key=lambda thing: int(numbers[tuple(thing.pos)])))


@lru_cache(maxsize=16)
def _start_of_game(seed: int) -> bytes:
    """Return the start of the game of a seed. It is cached, since generating a map takes half a second."""
    game = CrafterGame.__new__(CrafterGame)
    land = game._world = World(AREA, constants.materials, CHUNK)
    land.reset(seed=hash((seed, 1)) % (2**31 - 1))
    game._step, game.tenths, game.unlocked = 0, 0, list[str]()
    game._update_time()
    player = game._player = objects.Player(land, (AREA[0] // 2, AREA[1] // 2))
    land.add(player)
    game._last_health = player.health
    _generate(land, player)
    game.render()
    return game.save()


def _generate(land: World, player: Any) -> None:
    """Generate a map as the package does, with faster noise."""
    noise = Noise(land.random.randint(0, 2**31 - 1))
    tunnels = np.zeros(AREA, bool)
    places = [(x, y) for x in range(AREA[0]) for y in range(AREA[1])]
    for place in places:
        worldgen._set_material(land, place, player, tunnels, noise)
    for place in places:
        worldgen._set_object(land, place, player, tunnels)
