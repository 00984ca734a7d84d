"""Collect a diamond: it takes an iron pickaxe, and all that leads to one.

world: crafter
type: collect_diamond
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
