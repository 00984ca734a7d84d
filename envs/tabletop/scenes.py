"""Random scenes for the five task types in table 7 of the DEPS paper, and the score of a task."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from planbook.envs.tabletop.table import COLOURS, SHAPES, Supports, Table, Thing, block, ring, row, shape, spots

BASES = ("left_base", "middle_base", "right_base")
PEGS = ("light_peg", "middle_peg", "dark_peg")
BOX = "brown_box"


@dataclass
class TableScene:
    """The start of a task."""

    things: dict[str, Thing]
    """Maps names to things and places."""
    layout: dict[str, Supports] = field(default_factory=dict)
    """Maps each thing to the things or places that carry it at the start."""
    targets: dict[str, Supports] = field(default_factory=dict)
    """Maps each thing of the task to what must carry it. It is empty for the pyramid, where any block counts."""

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


def _cover(scene: TableScene, rng: random.Random, things: Iterable[Thing], supports: Iterable[str]) -> None:
    """Put each thing on the support with the same index, with probability 0.5, otherwise on a free spot."""
    for thing, support in zip(things, supports, strict=False):
        if rng.random() < 0.5:
            scene.place(thing, support)
        else:
            scene.scatter(rng, [thing])


def _assembling_kits(rng: random.Random) -> TableScene:
    """Return five holes, shapes for some of the holes, and shapes that fit into none."""
    forms = rng.sample(SHAPES, 7)
    scene = _scene(row("hole", [f"{form}_hole" for form in sorted(forms[:5])]))
    fitting = [shape(rng.choice(COLOURS), form) for form in forms[: rng.randint(3, 5)]]
    others = [shape(rng.choice(COLOURS), form) for form in forms[5 : 5 + rng.randint(1, 2)]]
    scene.scatter(rng, [*fitting, *others])
    _cover(scene, rng, [block(rng.choice(COLOURS))], [rng.choice(fitting).name])
    scene.targets = {thing.name: (f"{thing.shape}_hole",) for thing in fitting}
    return scene


def _towers_of_hanoi(rng: random.Random) -> TableScene:
    """Return three rings on the light or the middle peg, and up to two blocks that are not part of the task."""
    scene = _scene(row("peg", PEGS))
    colours = rng.sample(COLOURS, 5)
    large, medium, small = (ring(colour, size) for colour, size in zip(colours, (3, 2, 1), strict=False))
    for thing, support in ((large, rng.choice(PEGS[:2])), (medium, large.name), (small, medium.name)):
        scene.place(thing, support)
    scene.scatter(rng, [block(colour) for colour in colours[3 : 3 + rng.randint(0, 2)]])
    scene.targets = {large.name: (PEGS[2],), medium.name: (large.name,), small.name: (medium.name,)}
    return scene


def _put_block_in_bowl(rng: random.Random) -> TableScene:
    """Return pairs of a block and a bowl of one colour, and blocks and bowls without a partner.

    One block may start in a wrong bowl.
    """
    colours = rng.sample(COLOURS, 8)
    pairs = rng.randint(2, 4)
    paired, lone_bowls, lone_blocks = colours[:pairs], colours[4 : 4 + rng.randint(1, 2)], colours[6:]
    scene = _scene(row("bowl", [f"{colour}_bowl" for colour in sorted([*paired, *lone_bowls])]))
    first, *others = [block(colour) for colour in rng.sample(paired, pairs)]
    alone = [block(colour) for colour in lone_blocks[: rng.randint(1, 2)]]
    if rng.random() < 0.5:
        scene.place(first, f"{rng.choice([*paired, *lone_bowls])}_bowl")
    if scene.layout.get(first.name) in (None, (f"{first.colour}_bowl",)):
        scene.scatter(rng, [first])
    scene.scatter(rng, others)
    _cover(scene, rng, alone, [thing.name for thing in others])
    scene.targets = {thing.name: (f"{thing.colour}_bowl",) for thing in (first, *others)}
    return scene


def _packing_shapes(rng: random.Random) -> TableScene:
    """Return a box with room for exactly the shapes, and blocks that must not be in it. One block may start in it."""
    shapes = [shape(rng.choice(COLOURS), form, rng.choice((1, 3))) for form in rng.sample(SHAPES, rng.randint(3, 5))]
    scene = _scene(row("box", [BOX], capacity=sum(thing.size for thing in shapes)))
    blocks = [block(colour) for colour in rng.sample(COLOURS, rng.randint(2, 3))]
    scene.scatter(rng, shapes)
    if rng.random() < 0.5:
        scene.place(blocks.pop(), BOX)
    _cover(scene, rng, blocks, [thing.name for thing in shapes])
    scene.targets = {thing.name: (BOX,) for thing in shapes}
    return scene


def _stack_block_pyramid(rng: random.Random) -> TableScene:
    """Return six blocks, some of which may lie on others, and shapes that cannot be part of the pyramid."""
    scene = _scene(row("base", BASES, gap=1.0))
    blocks = [block(colour) for colour in rng.sample(COLOURS, 6)]
    scene.scatter(rng, blocks[:4])
    _cover(scene, rng, blocks[4:], [thing.name for thing in blocks[:2]])
    others = [shape(rng.choice(COLOURS), form) for form in rng.sample(SHAPES, rng.randint(1, 2))]
    _cover(scene, rng, others, [thing.name for thing in blocks[2:4]])
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
"""Maps each task type to its instruction. The words are ours, not the paper's."""


def make_scene(kind: str, seed: int) -> TableScene:
    """Return the start of a task. It depends only on the type and the seed."""
    scene = SCENES[kind](random.Random(f"tabletop/{kind}/{seed}"))
    # The order of creation would reveal which things are part of the task.
    scene.layout = dict(sorted(scene.layout.items()))
    return scene


PYRAMID = 6
"""Number of blocks in a pyramid with three levels."""


def done_share(scene: TableScene, table: Table) -> float:
    """Return the share of the task's things that are in place, from 0 to 1.

    A ring counts only if all rings below it are in place too.
    """
    if not scene.targets:
        return sum(_in_pyramid(table, name) for name in table.layout) / PYRAMID
    settled: set[str] = set()
    for name, supports in scene.targets.items():  # supports come before the things that they carry
        movable = {support for support in supports if support in table.layout}
        if table.layout[name] == supports and movable <= settled:
            settled.add(name)
    return len(settled) / len(scene.targets)


def _in_pyramid(table: Table, name: str) -> bool:
    """Return whether a thing is a block on a base, or a block across two blocks of the pyramid."""
    if table.things[name].kind != "block":
        return False
    supports = table.layout[name]
    if len(supports) == 1:
        return table.things[supports[0]].kind == "base"
    return all(_in_pyramid(table, support) for support in supports)
