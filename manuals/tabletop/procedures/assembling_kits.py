"""Put each object into the hole of its shape; those that have no hole stay where they are.

world: tabletop
type: assembling_kits
source: written by hand
uses: moving
"""


def solve(agent, task):
    for thing in things_of(agent, "shape"):
        hole = agent.look_at(thing)["shape"] + "_hole"
        if hole in agent.places():
            uncover(agent, thing)
            put(agent, thing, hole)
