"""Count the tickets, not closed, of the component that does what the goal says.

world: web
type: count_by_purpose
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    agent.goto("/wiki")
    press(agent, "link", "Components and what they are for")
    component = [texts[0] for texts in rows(agent) if task.params["purpose"].lower() in texts[-1].lower()][0]
    agent.stop(str(len(listed(agent, {"component": component}))))
