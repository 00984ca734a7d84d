"""Wake up: sleep as soon as energy is less than full, and stay unharmed until it is back.

world: crafter
type: wake_up
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    pursue(agent, task.params["achievement"], STEPS)
