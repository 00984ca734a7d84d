"""Obtain a thing of wood: gather the logs that it takes, and craft it.

world: minecraft
type: MT1_basic
source: written by hand
uses: recipes, chain
"""


def solve(agent, task):
    obtain(agent, {task.params["object"]: task.params["count"]})
