"""Procedures that obtain things: plan back from what is wanted, then gather and make.

world: minecraft
source: written by hand
"""


def obtain_item(agent, task):
    """Obtain one item.

    type: MT1_basic - Obtain a thing of wood: gather the logs that it takes, and craft it.
    type: MT2_tool_simple - Obtain a simple tool: wood first, then stone where it is of stone.
    type: MT3_hunt_and_food - Obtain what animals give, cooked or made into something.
    type: MT4_dig_down - Obtain a thing of stone or coal, which takes a pickaxe.
    type: MT6_tool_complex - Obtain a tool of iron.
    type: MT7_iron_stage - Obtain a thing of iron.
    type: MT8_challenge - Obtain a diamond.
    uses: recipes, chain
    """
    obtain(agent, {task.params["object"]: task.params["count"]})


def obtain_and_equip(agent, task):
    """Make a piece of equipment and put it on.

    type: MT5_equipment
    uses: recipes, chain
    """
    obtain(agent, {task.params["object"]: task.params["count"]})
    agent.equip(task.params["object"])


def obtain_in_any_order(agent, task):
    """Obtain things that can be had in any order: always the one next that is seen nearest.

    type: parallel_2 - Obtain two things that can be had in any order: always the one next that is seen nearest.
    type: parallel_3 - Obtain three things that can be had in any order: always the one next that is seen nearest.
    type: parallel_4 - Obtain four things that can be had in any order: always the one next that is seen nearest.
    uses: recipes, chain, parallel
    """
    obtain_all(agent, task.params["goals"])
