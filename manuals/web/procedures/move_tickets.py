"""Give all tickets of a list another milestone at once, with the form below the list.

world: web
type: move_tickets
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    component = task.params["where"].get("component")
    if component and not is_component(agent, component):
        agent.stop(f"N/A: there is no component {component}")
    listed(agent, task.params["where"])
    press(agent, "checkbox", "Toggle group")
    press(agent, "link", "Batch Modify")
    choose(agent, "Change:", "Milestone")
    choose(agent, "Milestone:", task.params["to"])
    press(agent, "button", "Change tickets")
    agent.stop()
