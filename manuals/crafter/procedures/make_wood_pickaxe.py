"""Make a wooden pickaxe, beside a table.

world: crafter
type: make_wood_pickaxe
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
