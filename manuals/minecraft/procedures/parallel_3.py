"""Obtain three things that can be had in any order: always the one next that is seen nearest.

world: minecraft
type: parallel_3
source: written by hand
uses: recipes, chain, parallel
"""


def solve(agent, task):
    obtain_all(agent, task.params["goals"])
