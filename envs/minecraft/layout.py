"""A world by its seed: regions of biomes on a plane, and the sites where each thing is."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import sqrt

from planbook.envs.minecraft.nature import ANIMALS, BIOMES, SOURCES

HALF = 180
"""The plane reaches this far from the spawn in each direction."""
REGIONS = 10
FOREVER = 10**9
ORES: Mapping[str, int] = {
    "coal_ore": 60,
    "iron_ore": 55,
    "quartz_ore": 40,
    "lapis_ore": 14,
    "gold_ore": 18,
    "redstone_ore": 24,
    "diamond_ore": 20,
    "obsidian": 16,
}
"""Veins under the plane, whatever the biome."""
CERTAIN: Mapping[str, int] = {
    "oak_tree": 14,
    "sheep": 8,
    "cow": 10,
    "pig": 6,
    "chicken": 6,
    "spider": 6,
    "sand": 8,
    "reeds": 6,
    "pumpkin": 4,
}
"""One site of these lies within reach of the spawn and stays, and so many are there: no task depends on luck alone."""
MEADOWS, REACH, SPREAD = 3, (90, 140), 8
"""What is certain lies about so many places, so far from the spawn, and so close to each."""
NEARBY, CLOSE, SOON = 0.6, (5, 20), (200, 600)
"""How likely some of what is certain are also close to the spawn, how close, and when such a herd is gone."""
LATER = (300, 3000)
"""When the other herds are gone."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where some of a source are. Herds wander off in one direction, and are gone after a while."""

    source: str
    x: float
    y: float
    depth: int
    amount: int
    dx: float = 0.0
    dy: float = 0.0
    gone_at: int = FOREVER
    number: int = 0
    soil: int = 0
    """Blocks of soil above a vein, to be dug by hand."""

    def at(self, tick: float) -> tuple[float, float]:
        """Where it is at a time; a herd comes to rest after ``WANDERING`` ticks."""
        moved = min(tick, WANDERING)
        return self.x + self.dx * moved, self.y + self.dy * moved


WANDERING = 3000
PACE = 0.025
"""How far a herd moves in a tick, at most, in each direction."""


Regions = tuple[tuple[float, float, str], ...]
"""Where the middle of each region is, and its biome."""
Cell = tuple[int, int]
CELL = 32
"""Blocks along a side of the squares that the plane is divided into, to find quickly what is close."""
SIGHT, VEIN_SIGHT = 48, 7
"""Blocks that can be overlooked on the surface, and in a tunnel."""


def cell_of(x: float, y: float) -> Cell:
    """The square that a place lies in."""
    return int(x // CELL), int(y // CELL)


@dataclass(frozen=True)
class Layout:
    """A world as it is at the start. What was taken from it is the player's record."""

    regions: Regions
    by_source: Mapping[str, tuple[Site, ...]]
    herds: tuple[Site, ...]
    surface: Mapping[Cell, tuple[Site, ...]]
    veins: Mapping[Cell, tuple[Site, ...]]
    """What stays where it is and may be in sight from a cell of the plane, above and under the ground."""

    def biome(self, x: float, y: float) -> str:
        """The biome of a place: that of the nearest region."""
        return _region(x, y, self.regions)[2]

    def soil(self, x: float, y: float) -> int:
        """How deep the soil is at a place."""
        return BIOMES[self.biome(x, y)].soil


@lru_cache(maxsize=128)
def layout_of(seed: int) -> Layout:
    """The world of a seed, always the same."""
    dice = random.Random(f"minecraft/{seed}")
    names, weights = list(BIOMES), [biome.weight for biome in BIOMES.values()]
    regions = tuple(
        (dice.uniform(-HALF, HALF), dice.uniform(-HALF, HALF), dice.choices(names, weights)[0]) for _ in range(REGIONS)
    )
    sites = [_site(*each, dice) for each in _places(regions, dice)]
    sites += [_early(source, dice) for source in CERTAIN if dice.random() < NEARBY]
    meadows = [_around(dice, *REACH) for _ in range(MEADOWS)]
    sites += [_lasting(source, *dice.choice(meadows), dice) for source in CERTAIN]
    sites = [_numbered(site, number, regions) for number, site in enumerate(sites)]
    still = [site for site in sites if site.gone_at == FOREVER]
    return Layout(
        regions,
        {name: tuple(site for site in sites if site.source == name) for name in SOURCES},
        tuple(site for site in sites if site.gone_at != FOREVER),
        _by_cell([site for site in still if not site.depth], SIGHT),
        _by_cell([site for site in still if site.depth], VEIN_SIGHT),
    )


def _numbered(site: Site, number: int, regions: Regions) -> Site:
    soil = BIOMES[_region(site.x, site.y, regions)[2]].soil if site.depth else 0
    return replace(site, number=number, soil=min(soil, site.depth))


def _by_cell(sites: Sequence[Site], reach: int) -> dict[Cell, tuple[Site, ...]]:
    """For each cell, the sites that lie within reach of some place of it."""
    found: dict[Cell, list[Site]] = {}
    for site in sites:
        (left, top), (right, bottom) = cell_of(site.x - reach, site.y - reach), cell_of(site.x + reach, site.y + reach)
        for cell in product(range(left, right + 1), range(top, bottom + 1)):
            found.setdefault(cell, []).append(site)
    return {cell: tuple(there) for cell, there in found.items()}


def _region(x: float, y: float, regions: Regions) -> tuple[float, float, str]:
    """The region of a place: that whose middle is nearest."""
    return min(regions, key=lambda region: (region[0] - x) ** 2 + (region[1] - y) ** 2)


def _places(regions: Regions, dice: random.Random) -> Iterator[tuple[str, float, float]]:
    for x, y, name in regions:
        for source, count in BIOMES[name].sites.items():
            for _ in range(count):
                yield source, *_near(x, y, regions, dice)
    for source, count in ORES.items():
        for _ in range(count):
            yield source, dice.uniform(-HALF, HALF), dice.uniform(-HALF, HALF)


def _near(x: float, y: float, regions: Regions, dice: random.Random) -> tuple[float, float]:
    """A place of the region around a point; after some tries, one near the point whosever it is."""
    for _ in range(4):
        px, py = x + dice.uniform(-60, 60), y + dice.uniform(-60, 60)
        if _region(px, py, regions)[:2] == (x, y):
            return px, py
    return x + dice.uniform(-20, 20), y + dice.uniform(-20, 20)


def _site(source: str, x: float, y: float, dice: random.Random) -> Site:
    kind = SOURCES[source]
    depth, amount = dice.randint(*kind.depth), dice.randint(*kind.amount)
    if source not in ANIMALS:
        return Site(source, x, y, depth, amount)
    return Site(source, x, y, depth, amount, *_drift(dice), gone_at=dice.randint(*LATER))


def _early(source: str, dice: random.Random) -> Site:
    x, y = _around(dice, *CLOSE)
    amount = CERTAIN[source] // 2
    if source not in ANIMALS:
        return Site(source, x, y, 0, amount)
    return Site(source, x, y, 0, amount, *_drift(dice), gone_at=dice.randint(*SOON))


def _lasting(source: str, x: float, y: float, dice: random.Random) -> Site:
    near = dice.uniform(-SPREAD, SPREAD), dice.uniform(-SPREAD, SPREAD)
    return Site(source, x + near[0], y + near[1], 0, CERTAIN[source])


def _drift(dice: random.Random) -> tuple[float, float]:
    return dice.uniform(-PACE, PACE), dice.uniform(-PACE, PACE)


def _around(dice: random.Random, least: float, most: float) -> tuple[float, float]:
    """A place that far from the spawn, in any direction."""
    x, y = dice.uniform(-1, 1), dice.uniform(-1, 1)
    stretch = dice.uniform(least, most) / max(sqrt(x * x + y * y), 0.01)
    return x * stretch, y * stretch
