"""Craft an item whose recipes go 2 deep: plan back from it on paper, get what is not crafted, then craft in order.

world: textcraft
type: depth_2
source: written by hand
uses: crafting
"""


def solve(agent, task):
    craft_target(agent, task)
