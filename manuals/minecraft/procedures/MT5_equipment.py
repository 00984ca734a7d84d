"""Make a piece of equipment and put it on.

world: minecraft
type: MT5_equipment
source: written by hand
uses: recipes, chain
"""


def solve(agent, task):
    obtain(agent, {task.params["object"]: task.params["count"]})
    agent.equip(task.params["object"])
