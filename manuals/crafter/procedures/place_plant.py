"""Place a plant: collect a sapling, and put it on grass.

world: crafter
type: place_plant
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
