"""Build a pyramid: three blocks on the bases, two across them, one on top.

world: tabletop
type: stack_block_pyramid
source: written by hand
uses: moving
"""


def solve(agent, task):
    # [Step 1] The uppermost blocks first, so that few have to be set aside.
    blocks = sorted(things_of(agent, "block"), key=lambda block: -agent.look_at(block)["position"][2])
    # [Step 2] Each level lies across the neighbours of the level below.
    supports = list(agent.places())
    while supports:
        level = []
        for support in supports:
            block = blocks.pop(0)
            uncover(agent, block)
            put(agent, block, support)
            level.append(block)
        supports = [f"{level[n]} and {level[n + 1]}" for n in range(len(level) - 1)]
