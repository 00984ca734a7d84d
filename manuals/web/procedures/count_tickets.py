"""Count the tickets that are not closed and have certain values.

world: web
type: count_tickets
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    component = task.params.get("component")
    if component and not is_component(agent, component):
        agent.stop(f"N/A: there is no component {component}")
    agent.stop(str(len(listed(agent, task.params))))
