"""Collect iron: it takes a stone pickaxe.

world: crafter
type: collect_iron
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
