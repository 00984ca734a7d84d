"""Procedures for the five tabletop tasks.

world: tabletop
source: written by hand
"""


def assembling_kits(agent, task):
    """Put each object into the hole of its shape; leave objects without a hole where they are.

    type: assembling_kits
    """
    for thing in things_of(agent, "shape"):
        hole = agent.look_at(thing)["shape"] + "_hole"
        if hole in agent.places():
            uncover(agent, thing)
            put(agent, thing, hole)


def packing_shapes(agent, task):
    """Remove everything but shapes from the box, and pack all shapes into it.

    type: packing_shapes
    """
    (box,) = agent.places()
    # [Step 1] Empty the box of other objects: it has room only for the shapes.
    for thing in agent.places()[box]:
        if agent.look_at(thing)["kind"] != "shape":
            set_aside(agent, thing)
    # [Step 2] Pack one shape after the other.
    for thing in things_of(agent, "shape"):
        if agent.things()[thing] != box:
            uncover(agent, thing)
            put(agent, thing, box)


def put_block_in_bowl(agent, task):
    """Put each block into the bowl of its colour; move a block without a bowl only if it is in the way.

    type: put_block_in_bowl
    """
    for block in things_of(agent, "block"):
        bowl = agent.look_at(block)["colour"] + "_bowl"
        if bowl in agent.places() and agent.things()[block] != bowl:
            # [Step] Both the block and its bowl must be free.
            uncover(agent, block)
            uncover(agent, bowl)
            put(agent, block, bowl)


def stack_block_pyramid(agent, task):
    """Build a pyramid: three blocks on the bases, two across them, one on top.

    type: stack_block_pyramid
    """
    # [Step 1] Use the topmost blocks first, so that few must be set aside.
    blocks = sorted(things_of(agent, "block"), key=lambda block: -agent.look_at(block)["position"][2])
    # [Step 2] Each block of a level lies across two neighbouring blocks of the level below.
    supports = list(agent.places())
    while supports:
        level = []
        for support in supports:
            block = blocks.pop(0)
            uncover(agent, block)
            put(agent, block, support)
            level.append(block)
        supports = [f"{level[n]} and {level[n + 1]}" for n in range(len(level) - 1)]


SIZES = ["large", "medium", "small"]


def towers_of_hanoi(agent, task):
    """Move a tower of rings to the dark peg: move the smaller rings aside, then the largest, then the others onto it.

    type: towers_of_hanoi
    """
    target = "dark_peg"
    rings = sorted(things_of(agent, "ring"), key=lambda ring: SIZES.index(agent.look_at(ring)["size"]))
    start = agent.things()[rings[0]]
    spare = [peg for peg in agent.places() if peg not in (start, target)][0]
    move_tower(agent, rings, start, target, spare)


def move_tower(agent, rings, start, target, spare):
    """Move rings, listed from the largest to the smallest, from one peg to another, using the spare peg."""
    if rings:
        move_tower(agent, rings[1:], start, spare, target)
        put(agent, rings[0], top_of(agent, target))
        move_tower(agent, rings[1:], spare, target, start)


def top_of(agent, place):
    """Return the topmost ring on a peg, or the peg itself if it is empty."""
    above = agent.look_at(place)["carries"]
    return top_of(agent, above[0]) if above else place


def put(agent, thing, target):
    """Put an object in or on a target; stop if that fails."""
    message = agent.pick_place(thing, target)
    assert "Nothing happens" not in message, f"{thing} could not be put on {target}: {message}"


def set_aside(agent, thing):
    """Put an object on a free spot of the table."""
    put(agent, thing, agent.free_spots()[0])


def uncover(agent, thing):
    """Set aside everything that lies on an object, topmost first."""
    for above in agent.look_at(thing)["carries"]:
        uncover(agent, above)
        set_aside(agent, above)


def things_of(agent, kind):
    """Return the names of all objects of a kind."""
    return [thing for thing in agent.things() if agent.look_at(thing)["kind"] == kind]
