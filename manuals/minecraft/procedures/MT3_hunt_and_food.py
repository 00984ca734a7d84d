"""Obtain what animals give, cooked or made into something.

world: minecraft
type: MT3_hunt_and_food
source: written by hand
uses: recipes, chain
"""


def solve(agent, task):
    obtain(agent, {task.params["object"]: task.params["count"]})
