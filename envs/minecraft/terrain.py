"""The map that is generated from a seed, the sources in sight from a place, and the duration of trips.

A *source* is a kind of thing that can be gathered, such as oak trees, cows or coal ore. A *site* is a place with a
certain amount of one source: a group of trees, a herd of animals, or an underground vein of ore. Lengths are in blocks,
and times are in ticks. The player starts at the *spawn*: (0, 0), the middle of the map.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

from planbook.envs.minecraft.game_data import ANIMALS, DATA, EVERYWHERE, SOURCES, STONE, Source

EDGE = 180
"""The map extends this many blocks from the spawn in each direction."""
REGIONS = 10
"""Number of regions, each of which has one biome."""
FOREVER = 10**9
"""A tick that is later than the end of any episode."""
MEADOW_COUNT, MEADOW_DISTANCE, SPREAD = 3, (90, 140), 8
"""Every permanent site is on a meadow. These are the number of meadows, the range of their distances from the spawn,
and the maximum distance of a permanent site from the middle of its meadow along each axis."""
P_CLOSE, CLOSE_DISTANCE, CLOSE_HERD_GONE_AT = 0.6, (5, 20), (200, 600)
"""The probability that a source with a permanent site also has a site close to the spawn, the range of that site's
distance from the spawn, and the range of ticks in which a herd leaves that site."""
HERD_GONE_AT = (300, 3000)
"""The range of ticks in which other herds leave. Herds at permanent sites neither move nor leave."""


@dataclass(frozen=True, slots=True)
class Site:
    """A site of a source. A herd, unless permanent, moves in one direction, and leaves the map after a while."""

    source: str
    x: float
    y: float
    depth: int
    """The depth of the site under the surface, or 0 if the site is on the surface."""
    amount: int
    """The number of trees, animals or blocks at the start of an episode."""
    dx: float = 0.0
    """The distance that a herd moves along the x axis in one tick."""
    dy: float = 0.0
    """The distance that a herd moves along the y axis in one tick."""
    gone_at: int = FOREVER
    """The last tick at which a herd can be found."""
    number: int = 0
    """The number of the site on its map."""
    soil: int = 0
    """The number of blocks of soil above a vein. Soil is dug by hand."""

    def position_at(self, tick: float) -> tuple[float, float]:
        """Return the position of the site at a tick. A herd stops moving after WANDERING_TICKS."""
        moved = min(tick, WANDERING_TICKS)
        return self.x + self.dx * moved, self.y + self.dy * moved


WANDERING_TICKS = 3000
"""The tick at which herds stop moving."""
MAX_HERD_SPEED = 0.025
"""The maximum speed of a herd along each axis, in blocks per tick."""


Regions = tuple[tuple[float, float, str], ...]
"""The position (x, y) of each region's centre, and the region's biome."""
SIGHT, VEIN_SIGHT = 48, 7
"""The distances, in blocks, to which the player sees on the surface and underground."""


@dataclass(frozen=True)
class Terrain:
    """A map at the start of an episode. It never changes: the player's state records the units that were taken."""

    regions: Regions
    sites: tuple[Site, ...]
    by_source: Mapping[str, tuple[Site, ...]]
    """Maps a source to its sites."""

    def biome(self, x: float, y: float) -> str:
        """Return the biome at a position, which is the biome of the nearest region."""
        return _region(x, y, self.regions)[2]

    def soil(self, x: float, y: float) -> int:
        """Return the depth of the soil at a position, in blocks."""
        return DATA.biomes[self.biome(x, y)].soil


@lru_cache(maxsize=128)
def terrain_of(seed: int) -> Terrain:
    """Return the map that is generated from a seed."""
    rng = random.Random(f"minecraft/{seed}")
    names, weights = list(DATA.biomes), [biome.weight for biome in DATA.biomes.values()]
    regions = tuple(
        (rng.uniform(-EDGE, EDGE), rng.uniform(-EDGE, EDGE), rng.choices(names, weights)[0]) for _ in range(REGIONS)
    )
    sites = [_site(*place, rng) for place in _site_positions(regions, rng)]
    sites += [_close_site(source, rng) for source in DATA.guaranteed_amounts if rng.random() < P_CLOSE]
    meadows = [_random_position(rng, *MEADOW_DISTANCE) for _ in range(MEADOW_COUNT)]
    sites += [_permanent_site(source, *rng.choice(meadows), rng) for source in DATA.guaranteed_amounts]
    sites = [_number_site(site, number, regions) for number, site in enumerate(sites)]
    by_source = {name: tuple(site for site in sites if site.source == name) for name in SOURCES}
    return Terrain(regions, tuple(sites), by_source)


def _number_site(site: Site, number: int, regions: Regions) -> Site:
    soil = DATA.biomes[_region(site.x, site.y, regions)[2]].soil if site.depth else 0
    return replace(site, number=number, soil=min(soil, site.depth))


def _region(x: float, y: float, regions: Regions) -> tuple[float, float, str]:
    """Return the region to which a position belongs: the region with the nearest centre."""
    return min(regions, key=lambda region: (region[0] - x) ** 2 + (region[1] - y) ** 2)


def _site_positions(regions: Regions, rng: random.Random) -> Iterator[tuple[str, float, float]]:
    """Yield the source and the position of each site, except permanent sites and extra sites close to the spawn."""
    for x, y, name in regions:
        for source, count in DATA.biomes[name].sites.items():
            for _ in range(count):
                yield source, *_position_near(x, y, regions, rng)
    for source, count in DATA.veins.items():
        for _ in range(count):
            yield source, rng.uniform(-EDGE, EDGE), rng.uniform(-EDGE, EDGE)


def _position_near(x: float, y: float, regions: Regions, rng: random.Random) -> tuple[float, float]:
    """Return a random position in the region whose centre is (x, y).

    If four attempts fail, return a position near the centre, even if it is in another region.
    """
    for _ in range(4):
        px, py = x + rng.uniform(-60, 60), y + rng.uniform(-60, 60)
        if _region(px, py, regions)[:2] == (x, y):
            return px, py
    return x + rng.uniform(-20, 20), y + rng.uniform(-20, 20)


def _site(source: str, x: float, y: float, rng: random.Random) -> Site:
    depth, amount = rng.randint(*SOURCES[source].depth), rng.randint(*SOURCES[source].amount)
    return _with_movement(Site(source, x, y, depth, amount), HERD_GONE_AT, rng)


def _close_site(source: str, rng: random.Random) -> Site:
    x, y = _random_position(rng, *CLOSE_DISTANCE)
    return _with_movement(Site(source, x, y, 0, DATA.guaranteed_amounts[source] // 2), CLOSE_HERD_GONE_AT, rng)


def _with_movement(site: Site, gone_at: tuple[int, int], rng: random.Random) -> Site:
    """Return a site unchanged, or with a random movement if it is a herd.

    The herd leaves at a random tick in the range ``gone_at``.
    """
    if site.source not in ANIMALS:
        return site
    dx, dy = rng.uniform(-MAX_HERD_SPEED, MAX_HERD_SPEED), rng.uniform(-MAX_HERD_SPEED, MAX_HERD_SPEED)
    return replace(site, dx=dx, dy=dy, gone_at=rng.randint(*gone_at))


def _permanent_site(source: str, x: float, y: float, rng: random.Random) -> Site:
    dx, dy = rng.uniform(-SPREAD, SPREAD), rng.uniform(-SPREAD, SPREAD)
    return Site(source, x + dx, y + dy, 0, DATA.guaranteed_amounts[source])


def _random_position(rng: random.Random, least: float, most: float) -> tuple[float, float]:
    """Return a random position ``least`` to ``most`` blocks from the spawn."""
    x, y = rng.uniform(-1, 1), rng.uniform(-1, 1)
    scale = rng.uniform(least, most) / max(sqrt(x * x + y * y), 0.01)
    return x * scale, y * scale


WALK_TICKS = 4.6
"""Number of ticks that it takes to walk one block, as in the game."""
CLIMB_TICKS = 8
"""Number of ticks that it takes to climb up one block in a shaft."""
SOIL_TICKS = 10
"""Number of ticks that it takes to dig one block of soil by hand."""
TUNNEL_BLOCKS = 2
"""Number of blocks of stone that must be dug for each block of a tunnel's length."""


class Spot(NamedTuple):
    """The player's position on the map, the depth under the surface, and the time."""

    x: float
    y: float
    depth: int
    tick: float


@dataclass
class Trip:
    """The result of a trip on which the player gathers a source."""

    spot: Spot
    """The place and the time at the end of the trip."""
    units_taken: dict[int, int] = field(default_factory=dict)
    """Maps the number of a site to the amount that the player takes from it on this trip."""


def trip(
    terrain: Terrain, start: Spot, units_taken: Mapping[int, int], source: Source, units: int, dig_ticks: int
) -> Trip | None:
    """Return a trip that gathers ``units`` units of a source, or None if the map does not contain enough.

    From each place, the trip continues to the site that can be reached fastest. ``units_taken`` maps the number
    of a site to the amount that was taken from it before the trip. ``dig_ticks`` is the number of ticks needed to dig a
    block of stone, or 0 if the player uses no pickaxe.
    """
    work = source.work * dig_ticks if source.tool == "pickaxe" else source.work
    result = Trip(start)
    while units > 0:
        arrival = _nearest(terrain, result, units_taken, source, dig_ticks)
        if arrival is None:
            return None
        spot, site, remaining = arrival
        count = min(remaining, units)
        units -= count
        result.units_taken[site] = result.units_taken.get(site, 0) + count
        result.spot = spot._replace(tick=spot.tick + count * work)
    result.units_taken.pop(NO_SITE, None)
    return result


NO_SITE = -1
"""The site number of a source that is everywhere and so has no sites."""


def _nearest(
    terrain: Terrain, trip_so_far: Trip, units_taken: Mapping[int, int], source: Source, dig_ticks: int
) -> tuple[Spot, int, int] | None:
    """Find the site of a source that can be reached fastest and is not exhausted.

    Return the player's spot on arrival, the site's number and the amount left there, or None if there is no such site.
    """
    if source.name in EVERYWHERE:
        return _to_layer(terrain, trip_so_far.spot, source), NO_SITE, FOREVER
    reachable = []
    for site in terrain.by_source[source.name]:
        remaining = site.amount - units_taken.get(site.number, 0) - trip_so_far.units_taken.get(site.number, 0)
        end = fastest_route(trip_so_far.spot, site, dig_ticks)
        if remaining > 0 and end.tick <= site.gone_at:
            reachable.append((end, site.number, remaining))
    return min(reachable, key=lambda arrival: arrival[0].tick, default=None)


def _to_layer(terrain: Terrain, spot: Spot, source: Source) -> Spot:
    """Return the player's spot after digging down to stone or climbing up to dirt, the sources that are everywhere."""
    if source is STONE:
        depth = max(spot.depth, terrain.soil(spot.x, spot.y))
        return spot._replace(depth=depth, tick=spot.tick + (depth - spot.depth) * SOIL_TICKS)
    return spot._replace(depth=0, tick=spot.tick + spot.depth * CLIMB_TICKS)


def fastest_route(spot: Spot, site: Site, dig_ticks: int) -> Spot:
    """Return the player's spot after the fastest route to a site, over the surface or through a tunnel.

    A tunnel is possible if both the player and the site are underground and the player uses a pickaxe.
    """
    surface_end = _surface_route(spot, site, dig_ticks)
    if not spot.depth or not site.depth or not dig_ticks:
        return surface_end
    distance = sqrt((site.x - spot.x) ** 2 + (site.y - spot.y) ** 2)
    descent = site.depth - spot.depth
    dug_blocks = int(distance) * TUNNEL_BLOCKS + max(descent, 0)
    tick = spot.tick + dug_blocks * dig_ticks + distance * WALK_TICKS + max(-descent, 0) * CLIMB_TICKS
    return min(surface_end, Spot(site.x, site.y, site.depth, tick), key=lambda end: end.tick)


def _surface_route(spot: Spot, site: Site, dig_ticks: int) -> Spot:
    """Return the player's spot after the route to a site over the surface.

    If the site is a herd, the route ends where the herd will be when the player arrives.
    """
    tick = spot.tick + spot.depth * CLIMB_TICKS
    x, y = site.x, site.y
    if site.dx or site.dy:
        x, y = site.position_at(tick)
        x, y = site.position_at(tick + sqrt((x - spot.x) ** 2 + (y - spot.y) ** 2) * WALK_TICKS)
    tick += sqrt((x - spot.x) ** 2 + (y - spot.y) ** 2) * WALK_TICKS
    if not site.depth:
        return Spot(x, y, 0, tick)
    return Spot(x, y, site.depth, tick + site.soil * SOIL_TICKS + (site.depth - site.soil) * dig_ticks)


DISTANCE_WORDS = ((8, "next to you"), (24, "near"), (SIGHT, "far"))
"""Maximum distances in blocks, each with the word for distances up to this maximum."""
Sight = dict[str, tuple[float, float, float]]
"""Maps a source in sight to the distance and the position (x, y) of its nearest site."""


def distance_words(sight: Sight) -> dict[str, str]:
    """Return a dict that maps each source in sight to a word for its distance. The nearest source comes first."""
    return {name: distance_word(sight[name][0]) for name in sorted(sight, key=lambda name: (sight[name][0], name))}


def distance_word(distance: float) -> str:
    """Return the word for a distance in blocks."""
    return next((word for reach, word in DISTANCE_WORDS if distance <= reach), DISTANCE_WORDS[-1][1])


def visible_sources(terrain: Terrain, spot: Spot, units_taken: Mapping[int, int]) -> Sight:
    """Return the sources in sight, each with its nearest site. Underground, only nearby veins are in sight."""
    x, y, depth, tick = spot
    reach = VEIN_SIGHT if depth else SIGHT
    nearest: dict[str, tuple[float, float, float]] = {}
    for site in terrain.sites:
        if bool(site.depth) != bool(depth):
            continue
        position = (site.x, site.y) if site.gone_at == FOREVER else site.position_at(tick)
        squared = (position[0] - x) ** 2 + (position[1] - y) ** 2 + (site.depth - depth) ** 2
        if squared > reach * reach or tick > site.gone_at or site.amount <= units_taken.get(site.number, 0):
            continue
        if site.source not in nearest or squared < nearest[site.source][0]:
            nearest[site.source] = squared, *position
    return {source: (sqrt(squared), site_x, site_y) for source, (squared, site_x, site_y) in nearest.items()}
