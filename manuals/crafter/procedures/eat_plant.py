"""Eat a plant: put a sapling into the ground, wall it in with stone, and wait until it is ripe.

world: crafter
type: eat_plant
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
