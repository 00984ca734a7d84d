"""Add up the numbers in a column of a table of the wiki.

world: web
type: sum_column
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto("/wiki")
    press(agent, "link", task.params["page"])
    table = [texts for texts in rows(agent)]
    place = table[0].index(task.params["column"])
    agent.stop(str(sum([int(texts[place]) for texts in table[1:]])))
