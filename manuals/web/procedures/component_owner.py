"""Change who owns a component.

world: web
type: component_owner
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto("/admin/ticket/components")
    press(agent, "link", task.params["component"])
    fill(agent, "Owner:", task.params["owner"])
    press(agent, "button", "Submit changes")
    agent.stop()
