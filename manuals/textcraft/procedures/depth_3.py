"""Craft an item whose recipes go 3 deep: plan back from it on paper, get what is not crafted, then craft in order.

world: textcraft
type: depth_3
source: written by hand
uses: crafting
"""


def solve(agent, task):
    craft_target(agent, task)
