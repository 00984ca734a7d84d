"""Obtain a simple tool: wood first, then stone where it is of stone.

world: minecraft
type: MT2_tool_simple
source: written by hand
uses: recipes, chain
"""


def solve(agent, task):
    obtain(agent, {task.params["object"]: task.params["count"]})
