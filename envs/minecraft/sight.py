"""What can be seen from where the agent stands, and how far it is in words."""

from collections.abc import Iterable, Iterator, Mapping
from math import sqrt

from envs.minecraft.layout import FOREVER, Layout, Site
from envs.minecraft.trips import Spot

SIGHT, VEIN_SIGHT = 48, 7
"""Blocks that can be overlooked on the surface, and in a tunnel."""
WORDS = ((8, "next to you"), (24, "near"), (SIGHT, "far"))
"""Up to how many blocks each word reaches."""
Sight = dict[str, tuple[float, float, float]]
"""By source: distance of the nearest, and where it is on the plane."""


def seen_words(sight: Sight) -> dict[str, str]:
    """What is in sight, nearest first, each with its distance in a word."""
    return {name: distance_word(sight[name][0]) for name in sorted(sight, key=lambda name: (sight[name][0], name))}


def distance_word(distance: float) -> str:
    """The word for a distance in blocks."""
    return next((word for reach, word in WORDS if distance <= reach), WORDS[-1][1])


def visible(layout: Layout, spot: Spot, gone: Mapping[int, int]) -> Sight:
    """The nearest site of each source in sight: distance and place. Underground, only veins close by are seen."""
    sites, reach = (layout.veins, VEIN_SIGHT) if spot.depth else (layout.surface, SIGHT)
    found: Sight = {}
    for site, x, y in _close(sites, spot, reach):
        distance = sqrt((x - spot.x) ** 2 + (y - spot.y) ** 2 + (site.depth - spot.depth) ** 2)
        known = found.get(site.source)
        if distance <= reach and (known is None or distance < known[0]) and site.amount > gone.get(site.number, 0):
            found[site.source] = distance, x, y
    return found


def _close(sites: Iterable[Site], spot: Spot, reach: int) -> Iterator[tuple[Site, float, float]]:
    for site in sites:
        x, y = site.x, site.y
        if site.gone_at != FOREVER:
            if spot.tick > site.gone_at:
                continue
            x, y = site.at(spot.tick)
        if -reach <= x - spot.x <= reach and -reach <= y - spot.y <= reach:
            yield site, x, y
