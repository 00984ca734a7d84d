"""Create a wiki page that lists the numbers of tickets.

world: web
type: list_on_page
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    found = numbers(listed(agent, task.params["where"]))
    agent.goto(f"/wiki/{task.params['page']}?action=edit")
    text = after(agent, "checkbox", "Edit side-by-side", "textbox")
    agent.type(text["id"], "\n".join([f"#{number}" for number in found]), False)
    press(agent, "button", "Submit changes")
    agent.stop()
