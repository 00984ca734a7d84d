"""Do a task of type fetch_two.

world: toy
type: fetch_two
source: learnt from fetch_two/460 by scripted:/tmp/planbook-0.1.0/toy_script.py:answer/planner
"""


def solve(agent, task):
    boxes = [word.strip(",.") for word in task.observation.split() if word.startswith("box_")]
    for thing in task.params["things"]:
        for box in boxes:
            if thing in agent.open(box):
                agent.take(thing, box)
                agent.put(thing)
                break
