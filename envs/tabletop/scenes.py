"""The scenes of the five tasks of the paper's table 7, and the share of a task that is done."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from planbook.envs.tabletop.table import COLOURS, SHAPES, Supports, Table, Thing, block, ring, row, shape, spots

BASES = ("left_base", "middle_base", "right_base")
PEGS = ("light_peg", "middle_peg", "dark_peg")
BOX = "brown_box"


@dataclass
class TableScene:
    """The start of a task. ``wanted`` maps things to targets; it is empty for the pyramid, where any block counts."""

    things: dict[str, Thing]
    on: dict[str, Supports] = field(default_factory=dict)
    wanted: dict[str, Supports] = field(default_factory=dict)

    def place(self, thing: Thing, support: str) -> None:
        """Place a thing on or in a support."""
        self.things[thing.name] = thing
        self.on[thing.name] = (support,)

    def scatter(self, dice: random.Random, things: Iterable[Thing]) -> None:
        """Place each thing on a random free spot."""
        occupied = {name for supports in self.on.values() for name in supports}
        free = [name for name, thing in self.things.items() if thing.kind == "spot" and name not in occupied]
        for thing, spot in zip(things, dice.sample(free, len(free)), strict=False):
            self.place(thing, spot)


def _scene(*places: list[Thing]) -> TableScene:
    return TableScene({place.name: place for group in (spots(), *places) for place in group})


def _cover(scene: TableScene, dice: random.Random, covers: Iterable[Thing], under: Iterable[str]) -> None:
    """Place each cover with probability 0.5 on its thing in ``under``, otherwise on a free spot."""
    for thing, below in zip(covers, under, strict=False):
        if dice.random() < 0.5:
            scene.place(thing, below)
        else:
            scene.scatter(dice, [thing])


def _assembling_kits(dice: random.Random) -> TableScene:
    """Return five holes, objects for some of them, and objects that fit none."""
    forms = dice.sample(SHAPES, 7)
    scene = _scene(row("hole", [f"{form}_hole" for form in sorted(forms[:5])]))
    fitting = [shape(dice.choice(COLOURS), form) for form in forms[: dice.randint(3, 5)]]
    others = [shape(dice.choice(COLOURS), form) for form in forms[5 : 5 + dice.randint(1, 2)]]
    scene.scatter(dice, [*fitting, *others])
    _cover(scene, dice, [block(dice.choice(COLOURS))], [dice.choice(fitting).name])
    scene.wanted = {thing.name: (f"{thing.shape}_hole",) for thing in fitting}
    return scene


def _towers_of_hanoi(dice: random.Random) -> TableScene:
    """Return three rings on the lightest or the middle peg, and up to two blocks that play no part."""
    scene = _scene(row("peg", PEGS))
    colours = dice.sample(COLOURS, 5)
    large, medium, small = (ring(colour, size) for colour, size in zip(colours, (3, 2, 1), strict=False))
    for thing, support in ((large, dice.choice(PEGS[:2])), (medium, large.name), (small, medium.name)):
        scene.place(thing, support)
    scene.scatter(dice, [block(colour) for colour in colours[3 : 3 + dice.randint(0, 2)]])
    scene.wanted = {large.name: (PEGS[2],), medium.name: (large.name,), small.name: (medium.name,)}
    return scene


def _put_block_in_bowl(dice: random.Random) -> TableScene:
    """Return blocks and bowls in pairs of one colour, and some without a partner; one block may be in a wrong bowl."""
    colours = dice.sample(COLOURS, 8)
    pairs = dice.randint(2, 4)
    paired, lone_bowls, lone_blocks = colours[:pairs], colours[4 : 4 + dice.randint(1, 2)], colours[6:]
    scene = _scene(row("bowl", [f"{colour}_bowl" for colour in sorted([*paired, *lone_bowls])]))
    first, *others = [block(colour) for colour in dice.sample(paired, pairs)]
    alone = [block(colour) for colour in lone_blocks[: dice.randint(1, 2)]]
    if dice.random() < 0.5:
        scene.place(first, f"{dice.choice([*paired, *lone_bowls])}_bowl")
    if scene.on.get(first.name) in (None, (f"{first.colour}_bowl",)):
        scene.scatter(dice, [first])
    scene.scatter(dice, others)
    _cover(scene, dice, alone, [thing.name for thing in others])
    scene.wanted = {thing.name: (f"{thing.colour}_bowl",) for thing in (first, *others)}
    return scene


def _packing_shapes(dice: random.Random) -> TableScene:
    """Return a box with room for exactly the shapes, and blocks that must stay out; one may start inside."""
    shapes = [
        shape(dice.choice(COLOURS), form, dice.choice((1, 3))) for form in dice.sample(SHAPES, dice.randint(3, 5))
    ]
    scene = _scene(row("box", [BOX], room=sum(thing.size for thing in shapes)))
    blocks = [block(colour) for colour in dice.sample(COLOURS, dice.randint(2, 3))]
    scene.scatter(dice, shapes)
    if dice.random() < 0.5:
        scene.place(blocks.pop(), BOX)
    _cover(scene, dice, blocks, [thing.name for thing in shapes])
    scene.wanted = {thing.name: (BOX,) for thing in shapes}
    return scene


def _stack_block_pyramid(dice: random.Random) -> TableScene:
    """Return six blocks, some perhaps on others, and shapes that cannot be part of the pyramid."""
    scene = _scene(row("base", BASES, gap=1.0))
    blocks = [block(colour) for colour in dice.sample(COLOURS, 6)]
    scene.scatter(dice, blocks[:4])
    _cover(scene, dice, blocks[4:], [thing.name for thing in blocks[:2]])
    others = [shape(dice.choice(COLOURS), form) for form in dice.sample(SHAPES, dice.randint(1, 2))]
    _cover(scene, dice, others, [thing.name for thing in blocks[2:4]])
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
"""The instruction of each task, in our words."""


def make_scene(kind: str, seed: int) -> TableScene:
    """Return the start of a task, which is always the same for a type and a seed."""
    scene = SCENES[kind](random.Random(f"tabletop/{kind}/{seed}"))
    scene.on = dict(sorted(scene.on.items()))  # the original order would reveal which things matter
    return scene


PYRAMID = 6
"""Number of blocks in a pyramid of three levels."""


def done_share(scene: TableScene, table: Table) -> float:
    """Return the share of the placements that are done, from 0 to 1.

    A ring counts only if it and all rings below it are in their final places.
    """
    if not scene.wanted:
        return sum(_in_pyramid(table, name) for name in table.on) / PYRAMID
    settled: set[str] = set()
    for name, supports in scene.wanted.items():  # supports come before what lies on them
        if table.on[name] == supports and all(support in settled or support not in table.on for support in supports):
            settled.add(name)
    return len(settled) / len(scene.wanted)


def _in_pyramid(table: Table, name: str) -> bool:
    """Return whether this is a block on a base, or one across two blocks that are in the pyramid."""
    if table.things[name].kind != "block":
        return False
    supports = table.on[name]
    if len(supports) == 1:
        return table.things[supports[0]].kind == "base"
    return all(_in_pyramid(table, support) for support in supports)
