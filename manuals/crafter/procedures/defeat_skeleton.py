"""Defeat a skeleton: they live in the tunnels of the mountains.

world: crafter
type: defeat_skeleton
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
