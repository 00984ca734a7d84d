"""Make an iron sword, between a table and a furnace.

world: crafter
type: make_iron_sword
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
