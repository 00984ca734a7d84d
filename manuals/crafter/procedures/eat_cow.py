"""Eat a cow: find one, follow it, and hit it until it is eaten.

world: crafter
type: eat_cow
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
