"""Obtain a diamond.

world: minecraft
type: MT8_challenge
source: written by hand
uses: recipes, chain
"""


def solve(agent, task):
    obtain(agent, {task.params["object"]: task.params["count"]})
