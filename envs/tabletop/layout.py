"""What is on what, and which moves the table allows."""

from collections.abc import Callable, Mapping, Sequence

from planbook.envs.tabletop.things import CONTAINERS, JOINED, MOVABLE, SIZES, TAKES, Thing

Supports = tuple[str, ...]
"""What a thing lies on or in: one name, or the two neighbouring blocks that carry it, left one first."""


class Layout:
    """Where every thing is. ``on`` is replaced with each move, never changed, so that it can be kept as it is."""

    def __init__(self, things: Mapping[str, Thing], on: Mapping[str, Supports]) -> None:
        self.things, self.on = things, on

    def upon(self, name: str) -> list[str]:
        """What lies directly on or in something."""
        return [thing for thing, supports in self.on.items() if name in supports]

    def position(self, name: str) -> tuple[float, float, int]:
        """Where a thing or place is: to the right, to the front (in widths of a block), and its level from 0 up."""
        if name not in self.on:
            return self.things[name].x, self.things[name].y, 0
        under = [self.position(support) for support in self.on[name]]
        return sum(x for x, _, _ in under) / len(under), under[0][1], under[0][2] + 1

    def free_spots(self) -> list[str]:
        """The spots with nothing on them."""
        taken = {name for supports in self.on.values() for name in supports}
        return [thing.name for thing in self.things.values() if thing.kind == "spot" and thing.name not in taken]

    def filled(self, box: str) -> int:
        """How much of a box's room is taken."""
        return sum(self.things[name].size for name in self.upon(box))

    def supports(self, target: str) -> Supports:
        """The target of a move as names; two are put in order from left to right."""
        names = target.split(JOINED)
        if len(names) == 2 and all(name in self.things for name in names):
            names.sort(key=lambda name: self.position(name)[0])
        return tuple(names)

    def refusal(self, thing: object, target: object) -> str:
        """Why a move cannot be made; empty if it can."""
        if not isinstance(thing, str) or thing not in self.things:
            return f"nothing is called {thing!r}"
        supports = self.supports(target) if isinstance(target, str) else (str(target),)
        for name in supports:
            if name not in self.things:
                return f"nothing is called {name!r}{'; name a free spot of it' if name == 'table' else ''}"
        return next((why for rule in RULES if (why := rule(self, self.things[thing], supports))), "")

    def move(self, thing: str, target: str) -> None:
        """Make a move that is not refused."""
        self.on = {**self.on, thing: self.supports(target)}


def _lifted(layout: Layout, thing: Thing, supports: Supports) -> str:
    if thing.kind not in MOVABLE:
        return f"{thing.name} is fixed to the table"
    above = layout.upon(thing.name)
    return f"{_listed(above)} on {thing.name}; it must be moved first" if above else ""


def _elsewhere(layout: Layout, thing: Thing, supports: Supports) -> str:
    if thing.name in supports:
        return f"{thing.name} cannot be put on itself"
    return f"{thing.name} is there already" if layout.on[thing.name] == supports else ""


def _taken_by_kind(layout: Layout, thing: Thing, supports: Supports) -> str:
    for support in (layout.things[name] for name in supports):
        takes = TAKES[support.kind]
        if thing.kind not in takes:
            return f"{support.name} takes only {' and '.join(f'{kind}s' for kind in takes)}"
    return ""


def _not_upon_content(layout: Layout, thing: Thing, supports: Supports) -> str:
    for name in supports:
        where = layout.on[name][0] if name in layout.on else ""
        if where and layout.things[where].kind in CONTAINERS:
            return f"{name} is in {where}, so nothing can be put on it"
    return ""


def _across(layout: Layout, thing: Thing, supports: Supports) -> str:
    """Two supports: blocks side by side, with nothing in the way between them."""
    if len(supports) == 1:
        return ""
    if len(supports) > 2 or {thing.kind, *(layout.things[name].kind for name in supports)} != {"block"}:
        return "only a block can lie across, and only on two blocks"
    left, right = (layout.position(name) for name in supports)
    if (right[0] - left[0], right[1], right[2]) != (1.0, left[1], left[2]):
        return f"{supports[0]} and {supports[1]} do not stand side by side at the same height"
    for name in supports:
        for above in layout.upon(name):
            if above != thing.name and layout.on[above] in ((name,), supports):
                return f"{above} is on {name}"
    return ""


def _room(layout: Layout, thing: Thing, supports: Supports) -> str:
    if len(supports) > 1:
        return ""
    support = layout.things[supports[0]]
    if support.kind != "box":
        there = [name for name in layout.upon(support.name) if name != thing.name]
        return f"{support.name} is taken: {_listed(there)} there" if there else ""
    left = support.room - layout.filled(support.name)
    return f"{support.name} has room for {left} more, and {thing.name} needs {thing.size}" if thing.size > left else ""


def _fits(layout: Layout, thing: Thing, supports: Supports) -> str:
    support = layout.things[supports[0]]
    if support.kind == "hole" and support.shape != thing.shape:
        return f"{thing.name} does not fit into {support.name}"
    if support.kind == "ring" and thing.size >= support.size:
        return f"{thing.name} is {SIZES[thing.size]}, and a ring goes only on a larger one"
    if support.kind in ("block", "shape") and thing.size > support.size:
        return f"{thing.name} is larger than {support.name} and would fall"
    return ""


def _listed(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"


RULES: tuple[Callable[[Layout, Thing, Supports], str], ...] = (
    _lifted,
    _elsewhere,
    _taken_by_kind,
    _not_upon_content,
    _across,
    _room,
    _fits,
)
"""Each says why a move is refused, or nothing; the first that speaks is told."""
