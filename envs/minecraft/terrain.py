"""The map of a seed: biomes, sites of each source, visible sites, and travel times."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

from planbook.envs.minecraft.game_data import ANIMALS, BIOMES, EVERYWHERE, SOURCES, STONE, Source

HALF = 180
"""The map reaches this many blocks from the spawn in each direction."""
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
"""Number of veins under the map, in any biome."""
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
"""Maps a source to the size of its permanent site near the spawn, so that no task depends on luck alone."""
MEADOWS, REACH, SPREAD = 3, (90, 140), 8
"""For sites of CERTAIN: number of places, their distance from the spawn, and the spread around each, in blocks."""
NEARBY, CLOSE, SOON = 0.6, (5, 20), (200, 600)
"""Probability that a source of CERTAIN is also close to the spawn, its distance, and when a herd there is gone."""
LATER = (300, 3000)
"""The tick when other herds are gone, from and to."""


@dataclass(frozen=True, slots=True)
class Location:
    """A site of a source. Herds wander off in one direction, and are gone after a while."""

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
    """Blocks of soil above a vein, dug by hand."""

    def at(self, tick: float) -> tuple[float, float]:
        """Return the position at a time; a herd comes to rest after ``WANDERING`` ticks."""
        moved = min(tick, WANDERING)
        return self.x + self.dx * moved, self.y + self.dy * moved


WANDERING = 3000
PACE = 0.025
"""Maximum speed of a herd along each axis, in blocks per tick."""


Regions = tuple[tuple[float, float, str], ...]
"""The centre of each region, and its biome."""
SIGHT, VEIN_SIGHT = 48, 7
"""Sight distance in blocks on the surface, and in a tunnel."""


@dataclass(frozen=True)
class Terrain:
    """A map at the start of an episode. The player records what was taken from it."""

    regions: Regions
    sites: tuple[Location, ...]
    by_source: Mapping[str, tuple[Location, ...]]

    def biome(self, x: float, y: float) -> str:
        """Return the biome of a place: that of the nearest region."""
        return _region(x, y, self.regions)[2]

    def soil(self, x: float, y: float) -> int:
        """Return the depth of the soil at a position."""
        return BIOMES[self.biome(x, y)].soil


@lru_cache(maxsize=128)
def terrain_of(seed: int) -> Terrain:
    """Return the map of a seed."""
    dice = random.Random(f"minecraft/{seed}")
    names, weights = list(BIOMES), [biome.weight for biome in BIOMES.values()]
    regions = tuple(
        (dice.uniform(-HALF, HALF), dice.uniform(-HALF, HALF), dice.choices(names, weights)[0]) for _ in range(REGIONS)
    )
    sites = [_site(*place, dice) for place in _places(regions, dice)]
    sites += [_close_site(source, dice) for source in CERTAIN if dice.random() < NEARBY]
    meadows = [_random_position(dice, *REACH) for _ in range(MEADOWS)]
    sites += [_certain_site(source, *dice.choice(meadows), dice) for source in CERTAIN]
    sites = [_number_site(site, number, regions) for number, site in enumerate(sites)]
    by_source = {name: tuple(site for site in sites if site.source == name) for name in SOURCES}
    return Terrain(regions, tuple(sites), by_source)


def _number_site(site: Location, number: int, regions: Regions) -> Location:
    soil = BIOMES[_region(site.x, site.y, regions)[2]].soil if site.depth else 0
    return replace(site, number=number, soil=min(soil, site.depth))


def _region(x: float, y: float, regions: Regions) -> tuple[float, float, str]:
    """Return the region of a position: that with the nearest centre."""
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
    """Return a position in the region around a point; after some tries, one near the point, in any region."""
    for _ in range(4):
        px, py = x + dice.uniform(-60, 60), y + dice.uniform(-60, 60)
        if _region(px, py, regions)[:2] == (x, y):
            return px, py
    return x + dice.uniform(-20, 20), y + dice.uniform(-20, 20)


def _site(source: str, x: float, y: float, dice: random.Random) -> Location:
    kind = SOURCES[source]
    depth, amount = dice.randint(*kind.depth), dice.randint(*kind.amount)
    return _roaming(Location(source, x, y, depth, amount), LATER, dice)


def _close_site(source: str, dice: random.Random) -> Location:
    x, y = _random_position(dice, *CLOSE)
    return _roaming(Location(source, x, y, 0, CERTAIN[source] // 2), SOON, dice)


def _roaming(site: Location, until: tuple[int, int], dice: random.Random) -> Location:
    """Return the site; if it is a herd, with a drift and the tick when it is gone."""
    if site.source not in ANIMALS:
        return site
    dx, dy = dice.uniform(-PACE, PACE), dice.uniform(-PACE, PACE)
    return replace(site, dx=dx, dy=dy, gone_at=dice.randint(*until))


def _certain_site(source: str, x: float, y: float, dice: random.Random) -> Location:
    near = dice.uniform(-SPREAD, SPREAD), dice.uniform(-SPREAD, SPREAD)
    return Location(source, x + near[0], y + near[1], 0, CERTAIN[source])


def _random_position(dice: random.Random, least: float, most: float) -> tuple[float, float]:
    """Return a position ``least`` to ``most`` blocks from the spawn, in any direction."""
    x, y = dice.uniform(-1, 1), dice.uniform(-1, 1)
    stretch = dice.uniform(least, most) / max(sqrt(x * x + y * y), 0.01)
    return x * stretch, y * stretch


WALK = 4.6
"""Ticks for a block on the surface, at the game's walking pace."""
CLIMB = 8
"""Ticks for a block upwards out of a shaft."""
SOIL = 10
"""Ticks for a block of soil, dug by hand."""
TUNNEL = 2
"""Blocks of stone to dig for each block of a tunnel."""


class Spot(NamedTuple):
    """The agent's position on the map, its depth below the surface, and the time."""

    x: float
    y: float
    depth: int
    tick: float


@dataclass
class Trip:
    """The end of a trip to gather from a source. ``taken`` maps site numbers to amounts."""

    spot: Spot
    taken: dict[int, int] = field(default_factory=dict)


def trip(terrain: Terrain, start: Spot, gone: Mapping[int, int], source: Source, units: int, dig: int) -> Trip | None:
    """Return a trip that gathers these units, quickest site first; None if the map does not have enough.

    ``gone`` is the amount taken from each site before, ``dig`` the ticks for a block of stone (0 without a pickaxe).
    """
    work = source.work * dig if source.tool == "pickaxe" else source.work
    result = Trip(start)
    while units > 0:
        reached = _nearest(terrain, result, gone, source, dig)
        if reached is None:
            return None
        spot, site, left = reached
        took = min(left, units)
        units -= took
        result.taken[site] = result.taken.get(site, 0) + took
        result.spot = spot._replace(tick=spot.tick + took * work)
    result.taken.pop(NOWHERE, None)
    return result


NOWHERE = -1
"""Site number of sources that are everywhere."""


def _nearest(
    terrain: Terrain, so_far: Trip, gone: Mapping[int, int], source: Source, dig: int
) -> tuple[Spot, int, int] | None:
    """Return the end of the quickest way to a site that is not exhausted, the site's number, and the amount left."""
    if source.name in EVERYWHERE:
        return _to_layer(terrain, so_far.spot, source), NOWHERE, FOREVER
    best: tuple[Spot, int, int] | None = None
    spot = so_far.spot
    for site in terrain.by_source[source.name]:
        left = site.amount - gone.get(site.number, 0) - so_far.taken.get(site.number, 0)
        if left <= 0 or (best and site.gone_at == FOREVER and _earliest_arrival(spot, site) >= best[0].tick):
            continue
        end = way(spot, site, dig)
        if end.tick <= site.gone_at and (best is None or end.tick < best[0].tick):
            best = end, site.number, left
    return best


def _earliest_arrival(spot: Spot, site: Location) -> float:
    """Return the earliest tick at which a site could be reached without digging or climbing."""
    return spot.tick + sqrt((site.x - spot.x) ** 2 + (site.y - spot.y) ** 2) * WALK


def _to_layer(terrain: Terrain, spot: Spot, source: Source) -> Spot:
    """Return the end of the way: down to the stone or, for dirt, up to the surface."""
    if source is STONE:
        depth = max(spot.depth, terrain.soil(spot.x, spot.y))
        return spot._replace(depth=depth, tick=spot.tick + (depth - spot.depth) * SOIL)
    return spot._replace(depth=0, tick=spot.tick + spot.depth * CLIMB)


def way(spot: Spot, site: Location, dig: int) -> Spot:
    """Return the end of the faster way: over the surface, or through the stone if the agent is underground."""
    over = _over(spot, site, dig)
    if not spot.depth or not site.depth or not dig:
        return over
    across = sqrt((site.x - spot.x) ** 2 + (site.y - spot.y) ** 2)
    down = site.depth - spot.depth
    dug = int(across) * TUNNEL + max(down, 0)
    tick = spot.tick + dug * dig + across * WALK + max(-down, 0) * CLIMB
    return min(over, Spot(site.x, site.y, site.depth, tick), key=lambda end: end.tick)


def _over(spot: Spot, site: Location, dig: int) -> Spot:
    """Return the end of the way over the surface. A herd is met where it will be when the agent arrives."""
    tick = spot.tick + spot.depth * CLIMB
    x, y = site.x, site.y
    if site.dx or site.dy:
        x, y = site.at(tick)
        x, y = site.at(tick + sqrt((x - spot.x) ** 2 + (y - spot.y) ** 2) * WALK)
    tick += sqrt((x - spot.x) ** 2 + (y - spot.y) ** 2) * WALK
    if not site.depth:
        return Spot(x, y, 0, tick)
    return Spot(x, y, site.depth, tick + site.soil * SOIL + (site.depth - site.soil) * dig)


WORDS = ((8, "next to you"), (24, "near"), (SIGHT, "far"))
"""Words for distances, each with its maximum in blocks."""
Sight = dict[str, tuple[float, float, float]]
"""Maps a source to the distance and the position of its nearest site."""


def seen_words(sight: Sight) -> dict[str, str]:
    """Return the sources in sight, nearest first, each with its distance as a word."""
    return {name: distance_word(sight[name][0]) for name in sorted(sight, key=lambda name: (sight[name][0], name))}


def distance_word(distance: float) -> str:
    """Return the word for a distance in blocks."""
    return next((word for reach, word in WORDS if distance <= reach), WORDS[-1][1])


def visible(terrain: Terrain, spot: Spot, gone: Mapping[int, int]) -> Sight:
    """Return the nearest site in sight of each source. Underground, only close veins are seen."""
    x, y, depth, tick = spot
    reach = VEIN_SIGHT if depth else SIGHT
    squares: dict[str, tuple[float, float, float]] = {}
    for site in terrain.sites:
        if bool(site.depth) != bool(depth):
            continue
        position = (site.x, site.y) if site.gone_at == FOREVER else site.at(tick)
        square = (position[0] - x) ** 2 + (position[1] - y) ** 2 + (site.depth - depth) ** 2
        if square > reach * reach or tick > site.gone_at or site.amount <= gone.get(site.number, 0):
            continue
        if site.source not in squares or square < squares[site.source][0]:
            squares[site.source] = square, *position
    return {source: (sqrt(square), site_x, site_y) for source, (square, site_x, site_y) in squares.items()}
