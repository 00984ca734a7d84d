"""The table: its fixed places, the movable things and their supports, the rules for moves, and random scenes.

A *support* is a place, or another thing, that carries a thing. A *scene* is the table at the start of a task. The
tasks belong to the five types in table 7 of the DEPS paper.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

COLOURS = ("blue", "gray", "green", "orange", "pink", "purple", "red", "white", "yellow")
SHAPES = ("circle", "cross", "diamond", "flower", "heart", "hexagon", "moon", "pentagon", "star", "triangle")
SIZES = ("", "small", "medium", "large")
"""The words for the sizes 1 to 3. There is no size 0."""

MOVABLE = ("block", "shape", "ring")
ACCEPTED_KINDS: Mapping[str, tuple[str, ...]] = {
    "spot": ("block", "shape"),
    "bowl": ("block",),
    "hole": ("shape",),
    "box": ("block", "shape"),
    "peg": ("ring",),
    "base": ("block",),
    "block": ("block", "shape"),
    "shape": ("block", "shape"),
    "ring": ("ring",),
}
"""Maps each kind of support to the kinds of things that it can carry."""
CONTAINERS = ("bowl", "hole", "box")
"""The kinds of places whose contents cannot carry other things."""
SEPARATOR = " and "
"""Separates the names of two blocks that together carry a third block."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A movable thing or a fixed place. Only the fields that its kind needs are set.

    ``size`` is 1, 2 or 3. ``capacity`` is the total size of the things that fit into a box. ``x`` and ``y`` are the
    position of a place, in block widths.
    """

    name: str
    kind: str
    colour: str = ""
    shape: str = ""
    size: int = 1
    capacity: int = 1
    x: float = 0.0
    y: float = 0.0

    @property
    def label(self) -> str:
        """The name, followed in brackets by the capacity of a box, or by the size of a ring or shape."""
        if self.kind == "box":
            return f"{self.name} (room for {self.capacity})"
        return f"{self.name} ({SIZES[self.size]})" if self.kind in ("ring", "shape") else self.name


def block(colour: str) -> Thing:
    """Return a block. All blocks have the same size."""
    return Thing(f"{colour}_block", "block", colour)


def shape(colour: str, form: str, size: int = 1) -> Thing:
    """Return a flat thing, such as a star. In a box, a large shape takes as much room as three small ones."""
    return Thing(f"{colour}_{form}", "shape", colour, form, size)


def ring(colour: str, size: int) -> Thing:
    """Return a ring, which can be put on a peg or on a larger ring."""
    return Thing(f"{colour}_ring", "ring", colour, size=size)


def row(kind: str, names: Iterable[str], capacity: int = 1, gap: float = 2.0) -> list[Thing]:
    """Return a row of places at the back of the table, ``gap`` block widths apart.

    The first word of a name is the colour of the place or, for a hole, the shape of the hole.
    """
    places = []
    for number, name in enumerate(names):
        prefix = name.split("_")[0]
        form, colour = (prefix, "") if kind == "hole" else ("", prefix)
        places.append(Thing(name, kind, colour, form, capacity=capacity, x=gap * number))
    return places


def spots() -> list[Thing]:
    """Return the twelve spots of the table. They are too far apart for a block to lie across two of them."""
    return [Thing(f"spot_{n + 1}", "spot", x=2.0 * (n % 4), y=2.0 + 2.0 * (n // 4)) for n in range(12)]


Supports = tuple[str, ...]
"""The names of the supports of a thing: one support, or two blocks side by side. The left block comes first."""


class Table:
    """The arrangement of all things. A move replaces ``layout`` with a new dict, so a reference to it is a snapshot."""

    def __init__(self, things: Mapping[str, Thing], layout: Mapping[str, Supports]) -> None:
        self.things, self.layout = things, layout

    def things_on(self, name: str) -> list[str]:
        """Return the names of the things that are directly on or in a thing or place."""
        return [thing for thing, supports in self.layout.items() if name in supports]

    def position(self, name: str) -> tuple[float, float, int]:
        """Return a thing's or place's distances from the left and from the back, in block widths, and its level.

        Places are at level 0.
        """
        if name not in self.layout:
            return self.things[name].x, self.things[name].y, 0
        below = [self.position(support) for support in self.layout[name]]
        return sum(x for x, _, _ in below) / len(below), below[0][1], below[0][2] + 1

    def free_spots(self) -> list[str]:
        """Return the names of the spots that have nothing on them."""
        occupied = {name for supports in self.layout.values() for name in supports}
        return [thing.name for thing in self.things.values() if thing.kind == "spot" and thing.name not in occupied]

    def used_room(self, box: str) -> int:
        """Return the total size of the things in a box."""
        return sum(self.things[name].size for name in self.things_on(box))

    def supports(self, target: str) -> Supports:
        """Return the names in the target of a move. Two names of known things are sorted from left to right."""
        names = target.split(SEPARATOR)
        if len(names) == 2 and all(name in self.things for name in names):
            names.sort(key=lambda name: self.position(name)[0])
        return tuple(names)

    def refusal(self, thing: object, target: object) -> str:
        """Return the reason why a move cannot be made, or "" if it can be made."""
        if not isinstance(thing, str) or thing not in self.things:
            return f"nothing is called {thing!r}"
        supports = self.supports(target) if isinstance(target, str) else (str(target),)
        for name in supports:
            if name not in self.things:
                return f"nothing is called {name!r}{'; name a free spot of it' if name == 'table' else ''}"
        return next((reason for rule in RULES if (reason := rule(self, self.things[thing], supports))), "")

    def move(self, thing: str, target: str) -> None:
        """Make a move. ``refusal`` must have returned "" for it."""
        self.layout = {**self.layout, thing: self.supports(target)}


def _check_liftable(table: Table, thing: Thing, supports: Supports) -> str:
    if thing.kind not in MOVABLE:
        return f"{thing.name} is fixed to the table"
    above = table.things_on(thing.name)
    return f"{_names_with_verb(above)} on {thing.name}; it must be moved first" if above else ""


def _check_elsewhere(table: Table, thing: Thing, supports: Supports) -> str:
    if thing.name in supports:
        return f"{thing.name} cannot be put on itself"
    return f"{thing.name} is there already" if table.layout[thing.name] == supports else ""


def _check_kind(table: Table, thing: Thing, supports: Supports) -> str:
    for support in (table.things[name] for name in supports):
        accepted = ACCEPTED_KINDS[support.kind]
        if thing.kind not in accepted:
            return f"{support.name} takes only {' and '.join(f'{kind}s' for kind in accepted)}"
    return ""


def _check_not_in_container(table: Table, thing: Thing, supports: Supports) -> str:
    for name in supports:
        holder = table.layout[name][0] if name in table.layout else ""
        if holder and table.things[holder].kind in CONTAINERS:
            return f"{name} is in {holder}, so nothing can be put on it"
    return ""


def _check_across(table: Table, thing: Thing, supports: Supports) -> str:
    """Return the reason why a thing cannot lie across two supports, or "" if it can.

    Only a block can, and the supports must be two free blocks side by side.
    """
    if len(supports) == 1:
        return ""
    if len(supports) > 2 or {thing.kind, *(table.things[name].kind for name in supports)} != {"block"}:
        return "only a block can lie across, and only on two blocks"
    left, right = (table.position(name) for name in supports)
    if (right[0] - left[0], right[1], right[2]) != (1.0, left[1], left[2]):
        return f"{supports[0]} and {supports[1]} do not stand side by side at the same height"
    for name in supports:
        for above in table.things_on(name):
            if above != thing.name and table.layout[above] in ((name,), supports):
                return f"{above} is on {name}"
    return ""


def _check_room(table: Table, thing: Thing, supports: Supports) -> str:
    if len(supports) > 1:
        return ""
    support = table.things[supports[0]]
    if support.kind != "box":
        others = [name for name in table.things_on(support.name) if name != thing.name]
        return f"{support.name} is taken: {_names_with_verb(others)} there" if others else ""
    free = support.capacity - table.used_room(support.name)
    return f"{support.name} has room for {free} more, and {thing.name} needs {thing.size}" if thing.size > free else ""


def _check_fit(table: Table, thing: Thing, supports: Supports) -> str:
    support = table.things[supports[0]]
    if support.kind == "hole" and support.shape != thing.shape:
        return f"{thing.name} does not fit into {support.name}"
    if support.kind == "ring" and thing.size >= support.size:
        return f"{thing.name} is {SIZES[thing.size]}, and a ring goes only on a larger one"
    if support.kind in ("block", "shape") and thing.size > support.size:
        return f"{thing.name} is larger than {support.name} and would fall"
    return ""


def _names_with_verb(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"


RULES: tuple[Callable[[Table, Thing, Supports], str], ...] = (
    _check_liftable,
    _check_elsewhere,
    _check_kind,
    _check_not_in_container,
    _check_across,
    _check_room,
    _check_fit,
)
"""The rules for moves, in the order in which they are checked. Each returns the reason for refusing a move, or ""."""


BASES = ("left_base", "middle_base", "right_base")
PEGS = ("light_peg", "middle_peg", "dark_peg")
BOX = "brown_box"


@dataclass
class TableScene:
    """The table at the start of a task, and the places where the task's things must be at the end."""

    things: dict[str, Thing]
    """Maps the name of each thing and place to the thing or place."""
    layout: dict[str, Supports] = field(default_factory=dict)
    """Maps the name of each thing to its supports at the start."""
    targets: dict[str, Supports] = field(default_factory=dict)
    """Maps each thing of the task to its supports at the end. Empty for the pyramid, which any blocks can form."""

    def place(self, thing: Thing, support: str) -> None:
        """Put a thing on or in another thing or a place."""
        self.things[thing.name] = thing
        self.layout[thing.name] = (support,)

    def scatter(self, rng: random.Random, things: Iterable[Thing]) -> None:
        """Put each thing on a random free spot."""
        free = Table(self.things, self.layout).free_spots()
        for thing, spot in zip(things, rng.sample(free, len(free)), strict=False):
            self.place(thing, spot)


def _scene(places: list[Thing]) -> TableScene:
    return TableScene({place.name: place for place in (*spots(), *places)})


def _cover_some(scene: TableScene, rng: random.Random, things: Iterable[Thing], supports: Iterable[str]) -> None:
    """Put each thing on the support with the same index or, with a probability of 0.5, on a free spot."""
    for thing, support in zip(things, supports, strict=False):
        if rng.random() < 0.5:
            scene.place(thing, support)
        else:
            scene.scatter(rng, [thing])


def _assembling_kits(rng: random.Random) -> TableScene:
    """Return a scene with five holes, shapes that fit into some of the holes, and shapes that fit into none."""
    forms = rng.sample(SHAPES, 7)
    scene = _scene(row("hole", [f"{form}_hole" for form in sorted(forms[:5])]))
    fitting = [shape(rng.choice(COLOURS), form) for form in forms[: rng.randint(3, 5)]]
    others = [shape(rng.choice(COLOURS), form) for form in forms[5 : 5 + rng.randint(1, 2)]]
    scene.scatter(rng, [*fitting, *others])
    _cover_some(scene, rng, [block(rng.choice(COLOURS))], [rng.choice(fitting).name])
    scene.targets = {thing.name: (f"{thing.shape}_hole",) for thing in fitting}
    return scene


def _towers_of_hanoi(rng: random.Random) -> TableScene:
    """Return a scene with three rings on the light or the middle peg, and up to two blocks that do not matter."""
    scene = _scene(row("peg", PEGS))
    colours = rng.sample(COLOURS, 5)
    large, medium, small = (ring(colour, size) for colour, size in zip(colours, (3, 2, 1), strict=False))
    for thing, support in ((large, rng.choice(PEGS[:2])), (medium, large.name), (small, medium.name)):
        scene.place(thing, support)
    scene.scatter(rng, [block(colour) for colour in colours[3 : 3 + rng.randint(0, 2)]])
    scene.targets = {large.name: (PEGS[2],), medium.name: (large.name,), small.name: (medium.name,)}
    return scene


def _put_block_in_bowl(rng: random.Random) -> TableScene:
    """Return a scene with pairs of a block and a bowl of the same colour, and with other blocks and bowls.

    One of the blocks may start in the wrong bowl.
    """
    colours = rng.sample(COLOURS, 8)
    pairs = rng.randint(2, 4)
    paired_colours, lone_bowl_colours = colours[:pairs], colours[4 : 4 + rng.randint(1, 2)]
    lone_block_colours = colours[6:]
    scene = _scene(row("bowl", [f"{colour}_bowl" for colour in sorted([*paired_colours, *lone_bowl_colours])]))
    first, *others = [block(colour) for colour in rng.sample(paired_colours, pairs)]
    alone = [block(colour) for colour in lone_block_colours[: rng.randint(1, 2)]]
    if rng.random() < 0.5:
        scene.place(first, f"{rng.choice([*paired_colours, *lone_bowl_colours])}_bowl")
    if scene.layout.get(first.name) in (None, (f"{first.colour}_bowl",)):
        scene.scatter(rng, [first])
    scene.scatter(rng, others)
    _cover_some(scene, rng, alone, [thing.name for thing in others])
    scene.targets = {thing.name: (f"{thing.colour}_bowl",) for thing in (first, *others)}
    return scene


def _packing_shapes(rng: random.Random) -> TableScene:
    """Return a scene with shapes, a box with room for exactly these shapes, and blocks that must stay out of the box.

    One of the blocks may start in the box.
    """
    shapes = [shape(rng.choice(COLOURS), form, rng.choice((1, 3))) for form in rng.sample(SHAPES, rng.randint(3, 5))]
    scene = _scene(row("box", [BOX], capacity=sum(thing.size for thing in shapes)))
    blocks = [block(colour) for colour in rng.sample(COLOURS, rng.randint(2, 3))]
    scene.scatter(rng, shapes)
    if rng.random() < 0.5:
        scene.place(blocks.pop(), BOX)
    _cover_some(scene, rng, blocks, [thing.name for thing in shapes])
    scene.targets = {thing.name: (BOX,) for thing in shapes}
    return scene


def _stack_block_pyramid(rng: random.Random) -> TableScene:
    """Return a scene with six blocks, up to two of them on others, and shapes that cannot be part of the pyramid."""
    scene = _scene(row("base", BASES, gap=1.0))
    blocks = [block(colour) for colour in rng.sample(COLOURS, 6)]
    scene.scatter(rng, blocks[:4])
    _cover_some(scene, rng, blocks[4:], [thing.name for thing in blocks[:2]])
    others = [shape(rng.choice(COLOURS), form) for form in rng.sample(SHAPES, rng.randint(1, 2))]
    _cover_some(scene, rng, others, [thing.name for thing in blocks[2:4]])
    return scene


SCENES: Mapping[str, Callable[[random.Random], TableScene]] = {
    "assembling_kits": _assembling_kits,
    "towers_of_hanoi": _towers_of_hanoi,
    "put_block_in_bowl": _put_block_in_bowl,
    "packing_shapes": _packing_shapes,
    "stack_block_pyramid": _stack_block_pyramid,
}
GOALS: Mapping[str, str] = {
    "assembling_kits": "put every object that has a hole of its shape into that hole",
    "towers_of_hanoi": "bring the rings to the dark brown peg",
    "put_block_in_bowl": "put each block into the bowl of its colour, where there is one",
    "packing_shapes": "pack all the shapes, and nothing else, into the brown box",
    "stack_block_pyramid": "build a pyramid of the blocks on the three bases",
}
"""Maps each task type to its goal, in our own words."""


def make_scene(task_type: str, seed: int) -> TableScene:
    """Return the scene of a task. It depends only on the type and the seed."""
    scene = SCENES[task_type](random.Random(f"tabletop/{task_type}/{seed}"))
    # The things are sorted, since the order in which they were created would reveal which are part of the task.
    scene.layout = dict(sorted(scene.layout.items()))
    return scene


PYRAMID_BLOCKS = 6
"""Number of blocks in a pyramid of three levels."""


def fraction_done(scene: TableScene, table: Table) -> float:
    """Return the fraction of the task's things that are in place, from 0 to 1.

    A ring counts only if all rings below it are in place, too.
    """
    if not scene.targets:
        return sum(_in_pyramid(table, name) for name in table.layout) / PYRAMID_BLOCKS
    in_place: set[str] = set()
    for name, supports in scene.targets.items():  # supports come before the things that they carry
        movable = {support for support in supports if support in table.layout}
        if table.layout[name] == supports and movable <= in_place:
            in_place.add(name)
    return len(in_place) / len(scene.targets)


def _in_pyramid(table: Table, name: str) -> bool:
    """Return True if a thing is a block on a base, or a block across two blocks of the pyramid."""
    if table.things[name].kind != "block":
        return False
    supports = table.layout[name]
    if len(supports) == 1:
        return table.things[supports[0]].kind == "base"
    return all(_in_pyramid(table, support) for support in supports)
