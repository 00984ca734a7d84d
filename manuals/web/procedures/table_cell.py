"""Read one cell of a table of the wiki.

world: web
type: table_cell
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto("/wiki")
    press(agent, "link", task.params["page"])
    found = cell(agent, task.params["row"], task.params["column"])
    agent.stop(found or f"N/A: the table has no row {task.params['row']}")
