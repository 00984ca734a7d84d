"""Add the same comment to every ticket of a list.

world: web
type: comment_on_all
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    for number in numbers(listed(agent, task.params["where"])):
        agent.goto(f"/ticket/{number}")
        add_comment(agent, task.params["comment"])
    agent.stop()
