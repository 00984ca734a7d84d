"""The genuine game without its pictures: the same, step for step, as ``crafter.Env`` with its default options.

Drawing at night takes numbers from the game's own random stream, so they are taken here too. One thing is settled that
the game leaves open: where it picks one of a region's creatures to vanish, it picks from a set in the order of memory
addresses, which differ between runs; here the creatures are in the order of their creation.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from crafter import constants, objects, worldgen
from crafter.engine import World
from crafter.env import Env
from crafter.worldgen import opensimplex

Table = list[int]
Gradient = tuple[int, int, int]


class Noise:
    """A faster ``opensimplex.OpenSimplex`` for making a map."""

    def __init__(self, seed: int) -> None:
        drawn = opensimplex.OpenSimplex(seed)
        gradients = opensimplex.internals.GRADIENTS3.tolist()
        self._permutation: Table = drawn._perm.tolist()
        self._gradients = [_gradient(gradients, start) for start in drawn._perm_grad_index3.tolist()]
        self._value = _on_lists()

    def noise3(self, x: float, y: float, z: float) -> float:
        """Return the noise at a point, between -1 and 1."""
        return self._value(x, y, z, self._permutation, self._gradients)


def _gradient(flat: list[int], start: int) -> Gradient:
    return flat[start], flat[start + 1], flat[start + 2]


@cache
def _on_lists() -> Callable[[float, float, float, Table, list[Gradient]], float]:
    """Return the package's function with our lookup of gradients."""
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
REACH = 2 * max(VIEW)
"""Only things nearer than this many steps move."""


class Land(World):  # type: ignore[misc]
    """The game's map. It forgets removed objects, so that long games with many arrows stay small."""

    def reset(self, seed: int | None = None) -> None:
        """Empty the map."""
        super().reset(seed)
        self._objects: dict[int, Any] = {0: None}
        self.latest = 0

    @property
    def objects(self) -> list[Any]:
        """Everything that is not a material, in the order of creation."""
        return list(self._objects.values())[1:]

    def add(self, obj: Any) -> None:
        """Put an object on a free place."""
        obj.pos = np.array(obj.pos)
        place = tuple(obj.pos)
        assert self._obj_map[place] == 0
        self.latest += 1
        self._objects[self.latest] = obj
        self._obj_map[place] = self.latest
        self._chunks[self.chunk_key(obj.pos)].add(obj)

    def remove(self, obj: Any) -> None:
        """Remove an object from the map, once."""
        if obj.removed:
            return
        place = tuple(obj.pos)
        del self._objects[int(self._obj_map[place])]
        self._obj_map[place] = 0
        self._chunks[self.chunk_key(obj.pos)].remove(obj)
        obj.removed = True

    def number(self, obj: Any) -> int:
        """Return the position of an object in the order of creation."""
        return int(self._obj_map[tuple(obj.pos)])

    @property
    def materials(self) -> Any:
        """The number of each place's material, by x and y."""
        return self._mat_map

    @property
    def names(self) -> Mapping[int, str]:
        """The name of each material, by number."""
        names: Mapping[int, str] = self._mat_names
        return names

    def put(self, objects: Mapping[int, Any], latest: int) -> None:
        """Replace all objects by these, by number."""
        self._objects, self.latest = {0: None, **objects}, latest
        self._obj_map[:] = 0
        for number, each in objects.items():
            self._obj_map[tuple(each.pos)] = number

    def regroup(self, chunks: Iterable[tuple[Any, Iterable[Any]]]) -> None:
        """Replace all regions by these, with the objects in them."""
        self._chunks.clear()
        self._chunks.update((key, set(there)) for key, there in chunks)


class CrafterGame(Env):  # type: ignore[misc]
    """One game, begun by making it. ``save`` and ``load`` copy everything that the next steps depend on."""

    def __init__(self, seed: int, length: int) -> None:
        self._place(seed, length)
        load(self, _first_moment(seed))

    def _place(self, seed: int, length: int) -> None:
        """Put the player on an empty map."""
        self._seed, self._length, self._area, self._view = seed, length, AREA, VIEW
        self._world = Land(AREA, constants.materials, CHUNK)
        self._world.reset(seed=hash((seed, 1)) % (2**31 - 1))
        self._step, self.unlocked, self.tenths = 0, list[str](), 0
        self._update_time()
        self._player = objects.Player(self._world, (AREA[0] // 2, AREA[1] // 2))
        self._world.add(self._player)
        self.last_health = self._player.health

    @property
    def land(self) -> Land:
        """The map."""
        return self._world

    @property
    def player(self) -> Any:
        """The package's own player object."""
        return self._player

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return self._step

    @property
    def reward(self) -> float:
        """The sum of the game's rewards: 1 for a step that unlocks, 0.1 for each point of health."""
        return self.tenths / 10

    @property
    def dead(self) -> bool:
        """True if the player died."""
        return bool(self._player.health <= 0)

    @property
    def over(self) -> bool:
        """True if the game's time is up."""
        return self._step >= self._length

    def go_on(self, player: Any, steps: int, tenths: int, last_health: int, unlocked: list[str]) -> None:
        """Continue from a copy; the land has been set before."""
        self._player, self._step, self.tenths = player, steps, tenths
        self.last_health, self.unlocked = last_health, unlocked

    def advance(self, action: str) -> None:
        """Take one step of the game, with an action by the game's own name."""
        self._step += 1
        self._update_time()
        self._player.action = action
        self._update_near()
        if self._step % 10 == 0:
            for chunk, there in self._world.chunks.items():
                self._balance_chunk(chunk, sorted(there, key=self._world.number))
        self._draw()
        self._count()

    def _update_near(self) -> None:
        """Let everything near act in turn, the player first; things move only themselves."""
        player, *others = self._world.objects
        player.update()
        x, y = map(int, player.pos)
        for each in others:
            if abs(each.pos[0] - x) + abs(each.pos[1] - y) < REACH:
                each.update()

    def _draw(self) -> None:
        if self._world.daylight < DARK:
            self._world.random.random_sample(PIXELS)

    def _count(self) -> None:
        """Count the reward as the game does: unlocking two things in one step gives no more than one."""
        health = self._player.health
        self.tenths += health - self.last_health
        self.last_health = health
        counts = self._player.achievements
        if new := [name for name, count in counts.items() if count and name not in self.unlocked]:
            self.unlocked += new
            self.tenths += 10

    def _generate(self) -> None:
        """Make a map as the package does, with faster noise."""
        land, player = self._world, self._player
        noise = Noise(land.random.randint(0, 2**31 - 1))
        tunnels = np.zeros(AREA, bool)
        places = [(x, y) for x in range(AREA[0]) for y in range(AREA[1])]
        for place in places:
            worldgen._set_material(land, place, player, tunnels, noise)
        for place in places:
            worldgen._set_object(land, place, player, tunnels)


SHARED = ("world", "random", "player")
"""References of every object to the game around it."""
KEPT_APART = ("inventory", "achievements")
"""Attributes that the game changes in place; it replaces all others."""


class SavedGame(NamedTuple):
    """Everything that the next steps depend on. It shares nothing with a running game."""

    steps: int
    tenths: int
    last_health: int
    unlocked: tuple[str, ...]
    daylight: float
    materials: Any
    latest: int
    objects: tuple[tuple[int, type[Any], dict[str, Any]], ...]
    """Number, class and own attributes; the player is the first."""
    chunks: tuple[tuple[Any, tuple[int, ...]], ...]
    """The regions in the order in which the game visits them."""
    random: Any


def save(game: "CrafterGame") -> SavedGame:
    """Return a copy of a game."""
    land = game.land
    numbers = {each: land.number(each) for each in land.objects}
    return SavedGame(
        game.steps,
        game.tenths,
        game.last_health,
        tuple(game.unlocked),
        land.daylight,
        land.materials.copy(),
        land.latest,
        tuple((number, type(each), _own(vars(each))) for each, number in numbers.items()),
        tuple((key, tuple(sorted(map(numbers.__getitem__, there)))) for key, there in land.chunks.items()),
        land.random.get_state(legacy=False),
    )


@lru_cache(maxsize=16)
def _first_moment(seed: int) -> SavedGame:
    """Return the beginning of the game of a seed. Making a map takes half a second, which every reset would take."""
    game = CrafterGame.__new__(CrafterGame)
    game._place(seed, 0)
    game._generate()
    game._draw()
    return save(game)


def load(game: "CrafterGame", saved: SavedGame) -> None:
    """Set a game to a copy, of itself or of another game."""
    land = game.land
    land.random.set_state(saved.random)
    land.materials[:] = saved.materials
    made = {number: (object.__new__(kind), own) for number, kind, own in saved.objects}
    player = next(iter(made.values()))[0]
    around = {"world": land, "random": land.random, "player": player}
    for each, own in made.values():
        vars(each).update(_own(own))
        vars(each).update((name, around[name]) for name in SHARED if name in own)
    land.put({number: each for number, (each, _) in made.items()}, saved.latest)
    land.regroup((key, [made[number][0] for number in numbers]) for key, numbers in saved.chunks)
    land.daylight = saved.daylight
    game.go_on(player, saved.steps, saved.tenths, saved.last_health, list(saved.unlocked))


def _own(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return a copy that shares nothing mutable; references to the game around it are marked, not kept."""
    own = attributes.copy()
    for name in KEPT_APART:
        if name in own:
            own[name] = own[name].copy()
    for name in SHARED:
        if name in own:
            own[name] = None
    return own
