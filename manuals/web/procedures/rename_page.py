"""Rename a wiki page.

world: web
type: rename_page
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto(f"/wiki/{task.params['page']}")
    press(agent, "button", "Rename page")
    fill(agent, "New name:", task.params["to"])
    press(agent, "button", "Rename page")
    agent.stop()
