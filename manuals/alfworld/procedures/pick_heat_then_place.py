"""Find a thing, heat it with a microwave, and put it in or on a receptacle of the kind that is asked for.

world: alfworld
type: pick_heat_then_place
source: written by hand
uses: search, change
"""


def solve(agent, task):
    change_and_place(agent, task, "microwave", agent.heat_with)
