"""Put a thing on the table.

world: toy
type: fetch
source: written by hand
uses: boxes
"""


def solve(agent, task):
    for thing in task.params["things"]:
        fetch(agent, thing, boxes_in(task.observation))
