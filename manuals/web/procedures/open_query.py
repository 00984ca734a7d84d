"""Open the list of tickets that are not closed and have certain values.

world: web
type: open_query
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    agent.goto(query(task.params))
    agent.stop()
