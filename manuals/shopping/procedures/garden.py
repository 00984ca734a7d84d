"""Buy a product of the category garden: search for what the goal says, compare products with it, select options, buy.

world: shopping
type: garden
source: written by hand
uses: buying
"""


def solve(agent, task):
    buy_wanted(agent, task)
