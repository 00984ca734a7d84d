"""Tell which component has the most tickets of a milestone that are not closed.

world: web
type: busiest_component
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    tickets = listed(agent, {"milestone": task.params["milestone"]})
    components = [ticket["Component"] for ticket in tickets]
    agent.stop(max(components, key=components.count))
