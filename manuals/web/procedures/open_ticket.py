"""Open a ticket, found by its summary.

world: web
type: open_ticket
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    open_titled(agent, task.params["summary"])
    agent.stop()
