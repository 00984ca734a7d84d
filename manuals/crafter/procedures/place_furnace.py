"""Place a furnace: gather stone until there is enough.

world: crafter
type: place_furnace
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
