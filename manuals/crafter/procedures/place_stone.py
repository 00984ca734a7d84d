"""Place a stone: collect one, and put it on open ground.

world: crafter
type: place_stone
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
