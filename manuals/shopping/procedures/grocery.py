"""Buy a product of the category grocery: search for what the goal says, compare products with it, select options, buy.

world: shopping
type: grocery
source: written by hand
uses: buying
"""


def solve(agent, task):
    buy_wanted(agent, task)
