"""Obtain a thing of iron.

world: minecraft
type: MT7_iron_stage
source: written by hand
uses: recipes, chain
"""


def solve(agent, task):
    obtain(agent, {task.params["object"]: task.params["count"]})
