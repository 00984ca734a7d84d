"""Play the whole game: the achievements in turn, while staying alive.

world: crafter
type: survive
source: written by hand
uses: exploring, living, achieving
"""

STEPS = 1900  # a cell may make 2,000 calls


def solve(agent, task):
    play(agent, STEPS)
