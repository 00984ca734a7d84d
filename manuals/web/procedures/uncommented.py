"""List the tickets that are not closed and have no comment.

world: web
type: uncommented
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    found = []
    for number in numbers(listed(agent, task.params["where"])):
        agent.goto(f"/ticket/{number}")
        if not comments(agent):
            found.append(str(number))
    agent.stop(", ".join(found))
