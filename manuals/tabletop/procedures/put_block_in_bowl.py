"""Put each block into the bowl of its colour; a block without such a bowl is only moved out of the way.

world: tabletop
type: put_block_in_bowl
source: written by hand
uses: moving
"""


def solve(agent, task):
    for block in things_of(agent, "block"):
        bowl = agent.look_at(block)["colour"] + "_bowl"
        if bowl in agent.places() and agent.things()[block] != bowl:
            # [Step] Both the block and its bowl must be free.
            uncover(agent, block)
            uncover(agent, bowl)
            put(agent, block, bowl)
