"""Create a ticket with given fields.

world: web
type: create_ticket
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    agent.goto("/newticket")
    for name, value in task.params.items():
        label = f"{name.capitalize()}:"
        if name == "description":
            fill(agent, f"{label} {COMMENT}", value)
        elif name in ("summary", "keywords"):
            fill(agent, label, value)
        else:
            choose(agent, label, value)
    press(agent, "button", "Create ticket")
    agent.stop()
