"""A procedure that buys what the goal describes, for each category.

world: shopping
source: written by hand
uses: buying
"""


def buy(agent, task):
    """Buy a product: search for what the goal says, compare products with it, select options, buy.

    type: beauty - Buy a product of the category beauty: search for what the goal says, compare products with it, select options, buy.
    type: electronics - Buy a product of the category electronics: search for what the goal says, compare products with it, select options, buy.
    type: fashion - Buy a product of the category fashion: search for what the goal says, compare products with it, select options, buy.
    type: garden - Buy a product of the category garden: search for what the goal says, compare products with it, select options, buy.
    type: grocery - Buy a product of the category grocery: search for what the goal says, compare products with it, select options, buy.
    """
    buy_wanted(agent, task)
