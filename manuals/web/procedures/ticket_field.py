"""Find a ticket by its summary and tell one of its fields.

world: web
type: ticket_field
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    if open_titled(agent, task.params["summary"]):
        agent.stop(field(agent, task.params["field"]))
    agent.stop("N/A: there is no such ticket")
