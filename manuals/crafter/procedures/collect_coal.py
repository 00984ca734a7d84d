"""Collect coal: it takes a wooden pickaxe, which takes wood and a table.

world: crafter
type: collect_coal
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
