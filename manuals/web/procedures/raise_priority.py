"""Set the priority of the one ticket with certain words that is not closed.

world: web
type: raise_priority
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    found = [link for link in search(agent, task.params["words"]) if link["name"].startswith("#")]
    agent.click([link for link in found if "(closed" not in link["name"]][0]["id"])
    open_form(agent)
    choose(agent, "Priority:", task.params["priority"])
    submit(agent)
    agent.stop()
