"""Open a report; several have similar titles.

world: web
type: open_report
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto("/report")
    for link in agent.find("link", task.params["title"]):
        if link["name"].split("} ")[-1] == task.params["title"]:
            agent.click(link["id"])
            agent.stop()
