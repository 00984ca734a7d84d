"""Obtain a thing of stone or coal, which takes a pickaxe.

world: minecraft
type: MT4_dig_down
source: written by hand
uses: recipes, chain
"""


def solve(agent, task):
    obtain(agent, {task.params["object"]: task.params["count"]})
