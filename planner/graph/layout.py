"""Where the boxes of a layered drawing go: few crossings, and each box near those it is connected with.

The steps of Sugiyama: long edges get a point in every layer that they cross, each layer is sorted by the mean place of
its neighbours, and then every box moves towards its neighbours as far as its layer's order allows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS = 16
"""Down and up again, for the order and for the places."""
GAP, POINT_GAP = 28.0, 14.0
"""Pixels between boxes of a layer, and around the point where an edge passes through."""
POINT = 8.0
"""Width that a passing edge takes up."""


@dataclass(frozen=True)
class Layout:
    """The middle of every box, and of every edge the points through which it runs, from layer to layer."""

    places: Mapping[str, float]
    routes: Mapping[tuple[str, str], tuple[tuple[int, float], ...]]
    width: float


def lay_out(layers: Sequence[Sequence[str]], edges: Iterable[tuple[str, str]], widths: Mapping[str, float]) -> Layout:
    """Places from 0 to ``width`` in pixels. Edges lead from a layer to a later one."""
    rows, links, chains = _with_points(layers, edges)
    ordered = _order(rows, links)
    wide = {name: widths.get(name, POINT) for row in ordered for name in row}
    places = _place(ordered, links, wide)
    left = min(places[name] - wide[name] / 2 for name in places)
    right = max(places[name] + wide[name] / 2 for name in places)
    places = {name: place - left for name, place in places.items()}
    level = {name: number for number, row in enumerate(ordered) for name in row}
    routes = {ends: tuple((level[name], places[name]) for name in chain) for ends, chain in chains.items()}
    return Layout({name: places[name] for layer in layers for name in layer}, routes, right - left)


Links = dict[str, tuple[list[str], list[str]]]
"""Of each box or point, its neighbours in the layer above and in the one below."""


def _with_points(
    layers: Sequence[Sequence[str]], edges: Iterable[tuple[str, str]]
) -> tuple[list[list[str]], Links, dict[tuple[str, str], list[str]]]:
    rows = [list(layer) for layer in layers]
    level = {name: number for number, row in enumerate(rows) for name in row}
    links: Links = {name: ([], []) for name in level}
    chains: dict[tuple[str, str], list[str]] = {}
    for source, target in edges:
        chain = [source]
        for number in range(level[source] + 1, level[target]):
            point = f"{source} {target} {number}"  # no name of a node has a space in it
            rows[number].append(point)
            links[point] = ([], [])
            chain.append(point)
        chain.append(target)
        for upper, lower in pairwise(chain):
            links[upper][1].append(lower)
            links[lower][0].append(upper)
        chains[source, target] = chain
    return rows, links, chains


def _order(rows: list[list[str]], links: Links) -> list[list[str]]:
    """The order with the fewest crossings of those that sorting by neighbours comes by."""
    best, fewest = rows, _crossings(rows, links)
    for sweep in range(SWEEPS):
        side = sweep % 2
        rows = [list(row) for row in rows]
        for number in range(len(rows)) if side == 0 else reversed(range(len(rows))):
            neighbours = number - 1 if side == 0 else number + 1
            if 0 <= neighbours < len(rows):
                there = {name: place for place, name in enumerate(rows[neighbours])}
                here = {name: place for place, name in enumerate(rows[number])}
                means = {name: _mean([there[each] for each in links[name][side]], here[name]) for name in here}
                rows[number].sort(key=means.__getitem__)
        if (crossings := _crossings(rows, links)) < fewest:
            best, fewest = rows, crossings
    return best


def _crossings(rows: list[list[str]], links: Links) -> int:
    count = 0
    for upper, lower in pairwise(rows):
        place = {name: number for number, name in enumerate(lower)}
        ends = [sorted(place[each] for each in links[name][1]) for name in upper]
        flat = [end for each in ends for end in each]
        count += sum(flat[one] > flat[other] for one in range(len(flat)) for other in range(one + 1, len(flat)))
    return count


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _place(rows: list[list[str]], links: Links, wide: Mapping[str, float]) -> dict[str, float]:
    places = {name: place for row in rows for name, place in _side_by_side(row, wide).items()}
    for sweep in range(2 * SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            last = sweep >= 2 * SWEEPS - 2
            wanted = [
                _mean(
                    [places[each] for side in ((0, 1) if last else (sweep % 2,)) for each in links[name][side]],
                    places[name],
                )
                for name in row
            ]
            places |= _apart(row, wanted, wide)
    return places


def _distance(one: str, other: str, wide: Mapping[str, float]) -> float:
    gap = GAP if " " not in one and " " not in other else POINT_GAP
    return (wide[one] + wide[other]) / 2 + gap


def _side_by_side(row: Sequence[str], wide: Mapping[str, float]) -> dict[str, float]:
    at, places = 0.0, dict[str, float]()
    for number, name in enumerate(row):
        at += _distance(row[number - 1], name, wide) if number else 0.0
        places[name] = at
    return {name: place - at / 2 for name, place in places.items()}


def _apart(row: Sequence[str], wanted: Sequence[float], wide: Mapping[str, float]) -> dict[str, float]:
    """As near to where they want to be as distances allow: the least squares, by pooling those that are too near."""
    offsets = [0.0]
    for one, other in pairwise(row):
        offsets.append(offsets[-1] + _distance(one, other, wide))
    pools: list[tuple[float, float]] = []  # mean and weight
    sizes: list[int] = []
    for name, place, offset in zip(row, wanted, offsets, strict=True):
        mean, weight, size = place - offset, 4.0 if " " in name else 1.0, 1  # edges that pass through go straight
        while pools and pools[-1][0] > mean:
            before, heavy = pools.pop()
            mean, weight = (before * heavy + mean * weight) / (heavy + weight), heavy + weight
            size += sizes.pop()
        pools.append((mean, weight))
        sizes.append(size)
    means = [mean for (mean, _), size in zip(pools, sizes, strict=True) for _ in range(size)]
    return {name: mean + offset for name, mean, offset in zip(row, means, offsets, strict=True)}
