"""List who wrote comments that mention something on certain tickets.

world: web
type: who_mentions
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    found = set()
    for number in numbers(listed(agent, task.params["where"], closed=True)):
        agent.goto(f"/ticket/{number}")
        found |= {author for author, text in comments(agent) if task.params["words"] in text}
    agent.stop(", ".join(sorted(found)))
