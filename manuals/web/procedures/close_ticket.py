"""Close a ticket with a resolution and a comment.

world: web
type: close_ticket
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    if not open_titled(agent, task.params["summary"]):
        agent.stop("N/A: there is no such ticket")
    open_form(agent)
    press(agent, "radio", "resolve")
    agent.select(after(agent, "radio", "resolve", "combobox")["id"], task.params["resolution"])
    add_comment(agent, task.params["comment"])
    agent.stop()
