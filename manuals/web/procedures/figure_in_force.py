"""Read a cell of a table of the wiki; pages that are out of date lead on to the one in force.

world: web
type: figure_in_force
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto("/wiki")
    press(agent, "link", task.params["topic"])
    while agent.find("paragraph", "out of date"):
        notice = agent.find("paragraph", "out of date")[0]
        agent.click(after(agent, "paragraph", notice["name"], "link")["id"])
    agent.stop(cell(agent, task.params["row"], task.params["column"]))
