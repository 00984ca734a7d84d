"""Replace a text on a wiki page and leave the rest as it is.

world: web
type: edit_wiki
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto(f"/wiki/{task.params['page']}?action=edit")
    text = after(agent, "checkbox", "Edit side-by-side", "textbox")
    agent.type(text["id"], text["value"].replace(task.params["old"], task.params["new"]), False)
    press(agent, "button", "Submit changes")
    agent.stop()
