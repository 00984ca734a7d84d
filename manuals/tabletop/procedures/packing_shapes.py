"""Take out of the box what does not belong there, and pack all shapes.

world: tabletop
type: packing_shapes
source: written by hand
uses: moving
"""


def solve(agent, task):
    (box,) = agent.places()
    # [Step 1] The box has room for the shapes alone.
    for thing in agent.places()[box]:
        if agent.look_at(thing)["kind"] != "shape":
            set_aside(agent, thing)
    # [Step 2] Pack one shape after the other.
    for thing in things_of(agent, "shape"):
        if agent.things()[thing] != box:
            uncover(agent, thing)
            put(agent, thing, box)
