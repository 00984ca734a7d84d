"""Find a thing, cool it with a fridge, and put it in or on a receptacle of the kind that is asked for.

world: alfworld
type: pick_cool_then_place
source: written by hand
uses: search, change
"""


def solve(agent, task):
    change_and_place(agent, task, "fridge", agent.cool_with)
