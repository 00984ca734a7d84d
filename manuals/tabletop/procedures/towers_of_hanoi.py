"""Move a tower of rings to the dark peg: all but the largest aside, the largest over, the others after it.

world: tabletop
type: towers_of_hanoi
source: written by hand
uses: moving
"""

SIZES = ["large", "medium", "small"]


def solve(agent, task):
    target = "dark_peg"
    rings = sorted(things_of(agent, "ring"), key=lambda ring: SIZES.index(agent.look_at(ring)["size"]))
    start = agent.things()[rings[0]]
    spare = [peg for peg in agent.places() if peg not in (start, target)][0]
    move_tower(agent, rings, start, target, spare)


def move_tower(agent, rings, start, target, spare):
    """Move rings, the largest first in the list, from a peg to another by way of the third."""
    if rings:
        move_tower(agent, rings[1:], start, spare, target)
        put(agent, rings[0], top_of(agent, target))
        move_tower(agent, rings[1:], spare, target, start)


def top_of(agent, place):
    """What lies uppermost on a peg: a ring, or the peg itself."""
    above = agent.look_at(place)["carries"]
    return top_of(agent, above[0]) if above else place
