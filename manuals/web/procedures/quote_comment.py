"""Comment on a ticket with what a table of the wiki says.

world: web
type: quote_comment
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    agent.goto(f"/wiki/{task.params['page']}")
    found = cell(agent, task.params["row"], task.params["column"])
    open_titled(agent, task.params["summary"])
    add_comment(agent, task.params["comment"].replace("...", found))
    agent.stop()
