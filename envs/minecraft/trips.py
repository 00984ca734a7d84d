"""Getting to things: how long the way to the nearest site takes, and from there to the next, until there is enough."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

from planbook.envs.minecraft.layout import FOREVER, Layout, Site
from planbook.envs.minecraft.nature import EVERYWHERE, STONE, Source

WALK = 4.6
"""Ticks for a block on the surface, at the game's walking pace."""
CLIMB = 8
"""Ticks for a block upwards out of a shaft."""
SOIL = 10
"""Ticks for a block of soil, dug by hand."""
TUNNEL = 2
"""Blocks of stone to dig for each block of a tunnel."""


class Spot(NamedTuple):
    """Where the agent is: on the plane, how deep below the surface, and when."""

    x: float
    y: float
    depth: int
    tick: float


class Leg(NamedTuple):
    """A way to a site: where and when it ends, and how many blocks of stone were dug on it."""

    spot: Spot
    dug: int


@dataclass
class Trip:
    """Everything that gathering takes. ``taken`` counts by the site's number."""

    spot: Spot
    dug: int = 0
    taken: dict[int, int] = field(default_factory=dict)


def trip(layout: Layout, start: Spot, gone: Mapping[int, int], source: Source, units: int, dig: int) -> Trip | None:
    """Gather so many of a source, from the nearest site on; None where the world has not enough of it.

    ``gone`` is what was taken from each site before, ``dig`` the ticks that a block of stone takes.
    """
    work = source.work * dig if source.tool == "pickaxe" else source.work
    wear = source.work if source.tool == "pickaxe" else 1
    done = Trip(start)
    while units > 0:
        reached = _nearest(layout, done, gone, source, dig)
        if reached is None:
            return None
        leg, site, left = reached
        took = min(left, units)
        units -= took
        done.taken[site] = done.taken.get(site, 0) + took
        done.spot = leg.spot._replace(tick=leg.spot.tick + took * work)
        done.dug += leg.dug + took * wear
    done.taken.pop(NOWHERE, None)
    return done


NOWHERE = -1
"""Stands for the site of what is everywhere."""


def _nearest(
    layout: Layout, done: Trip, gone: Mapping[int, int], source: Source, dig: int
) -> tuple[Leg, int, int] | None:
    """The quickest way to a site that has something left: way, number, how many are left."""
    if source.name in EVERYWHERE:
        return _below(layout, done.spot, source), NOWHERE, FOREVER
    best: tuple[Leg, int, int] | None = None
    spot = done.spot
    for site in layout.by_source[source.name]:
        left = site.amount - gone.get(site.number, 0) - done.taken.get(site.number, 0)
        if left <= 0 or (best and site.gone_at == FOREVER and _at_least(spot, site) >= best[0].spot.tick):
            continue
        leg = way(spot, site, dig)
        if leg.spot.tick <= site.gone_at and (best is None or leg.spot.tick < best[0].spot.tick):
            best = leg, site.number, left
    return best


def _at_least(spot: Spot, site: Site) -> float:
    """The earliest tick at which a site could be reached, were there nothing to dig or climb."""
    return spot.tick + sqrt((site.x - spot.x) ** 2 + (site.y - spot.y) ** 2) * WALK


def _below(layout: Layout, spot: Spot, source: Source) -> Leg:
    """Down to the stone, if the agent is not there yet; up to the surface for soil."""
    if source is STONE:
        depth = max(spot.depth, layout.soil(spot.x, spot.y))
        return Leg(spot._replace(depth=depth, tick=spot.tick + (depth - spot.depth) * SOIL), 0)
    return Leg(spot._replace(depth=0, tick=spot.tick + spot.depth * CLIMB), 0)


def way(spot: Spot, site: Site, dig: int) -> Leg:
    """The faster way to a site: over the surface, or through the stone where the agent is deep already."""
    over = _over(spot, site, dig)
    if not spot.depth or not site.depth or not dig:
        return over
    across = sqrt((site.x - spot.x) ** 2 + (site.y - spot.y) ** 2)
    down = site.depth - spot.depth
    dug = int(across) * TUNNEL + max(down, 0)
    tick = spot.tick + dug * dig + across * WALK + max(-down, 0) * CLIMB
    return min(over, Leg(Spot(site.x, site.y, site.depth, tick), dug), key=lambda leg: leg.spot.tick)


def _over(spot: Spot, site: Site, dig: int) -> Leg:
    """Up to the surface, over it, and down. A herd is met where it will be by the time the agent gets there."""
    tick = spot.tick + spot.depth * CLIMB
    x, y = site.x, site.y
    if site.dx or site.dy:
        x, y = site.at(tick)
        x, y = site.at(tick + sqrt((x - spot.x) ** 2 + (y - spot.y) ** 2) * WALK)
    tick += sqrt((x - spot.x) ** 2 + (y - spot.y) ** 2) * WALK
    if not site.depth:
        return Leg(Spot(x, y, 0, tick), 0)
    dug = site.depth - site.soil
    return Leg(Spot(x, y, site.depth, tick + site.soil * SOIL + dug * dig), dug)
