"""Obtain a tool of iron.

world: minecraft
type: MT6_tool_complex
source: written by hand
uses: recipes, chain
"""


def solve(agent, task):
    obtain(agent, {task.params["object"]: task.params["count"]})
