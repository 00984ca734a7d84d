"""Defeat a zombie: they walk about on grass, most of them by night.

world: crafter
type: defeat_zombie
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
