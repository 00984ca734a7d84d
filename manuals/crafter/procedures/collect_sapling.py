"""Collect a sapling: grass gives one with luck.

world: crafter
type: collect_sapling
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
