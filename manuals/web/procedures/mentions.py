"""List the tickets, closed ones included, with a comment that mentions something.

world: web
type: mentions
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    found = []
    for number in numbers(listed(agent, task.params["where"], closed=True)):
        agent.goto(f"/ticket/{number}")
        if any([task.params["words"] in text for _, text in comments(agent)]):
            found.append(number)
    agent.stop(", ".join([str(number) for number in found]))
