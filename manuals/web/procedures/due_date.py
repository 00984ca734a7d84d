"""Change the due date of a milestone.

world: web
type: due_date
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto("/roadmap")
    press(agent, "link", f"Milestone: {task.params['milestone']}")
    press(agent, "button", "Edit milestone")
    agent.type(after(agent, "checkbox", "Due:", "textbox")["id"], f"{task.params['date']}T12:00:00Z", False)
    press(agent, "button", "Submit changes")
    agent.stop()
