"""What can be seen from where the agent stands, and how far it is in words."""

from collections.abc import Mapping
from math import sqrt

from planbook.envs.minecraft.layout import FOREVER, SIGHT, VEIN_SIGHT, Layout, cell_of
from planbook.envs.minecraft.trips import Spot

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
    x, y, depth, tick = spot
    reach = VEIN_SIGHT if depth else SIGHT
    squares: dict[str, tuple[float, float, float]] = {}
    still = (layout.veins if depth else layout.surface).get(cell_of(x, y), ())
    for site in (*still, *(() if depth else layout.herds)):
        there = (site.x, site.y) if site.gone_at == FOREVER else site.at(tick)
        square = (there[0] - x) ** 2 + (there[1] - y) ** 2 + (site.depth - depth) ** 2
        if square > reach * reach or tick > site.gone_at or site.amount <= gone.get(site.number, 0):
            continue
        if site.source not in squares or square < squares[site.source][0]:
            squares[site.source] = square, *there
    return {source: (sqrt(square), there_x, there_y) for source, (square, there_x, there_y) in squares.items()}
