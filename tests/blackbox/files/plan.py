import re

for box in re.findall(r"box_\d+", task.observation):
    seen = agent.open(box)
    for thing in task.params["things"]:
        if thing in seen:
            agent.take(thing, box)
            agent.put(thing)
