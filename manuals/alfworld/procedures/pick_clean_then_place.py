"""Find a thing, clean it in a sink, and put it in or on a receptacle of the kind that is asked for.

world: alfworld
type: pick_clean_then_place
source: written by hand
uses: search, change
"""


def solve(agent, task):
    change_and_place(agent, task, "sinkbasin", agent.clean_with)
