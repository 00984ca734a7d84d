"""A procedure that crafts an item, for each depth of its recipes.

world: textcraft
source: written by hand
uses: crafting
"""


def craft_item(agent, task):
    """Craft an item: plan back from it on paper, get what is not crafted, then craft in order.

    type: depth_2 - Craft an item whose recipes go 2 deep: plan back from it on paper, get what is not crafted, then craft in order.
    type: depth_3 - Craft an item whose recipes go 3 deep: plan back from it on paper, get what is not crafted, then craft in order.
    type: depth_4 - Craft an item whose recipes go 4 deep: plan back from it on paper, get what is not crafted, then craft in order.
    """
    craft_target(agent, task)
