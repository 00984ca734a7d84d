"""From a ticket closed as a duplicate, go on to the one that is not, and tell a field of it.

world: web
type: follow_duplicates
source: written by hand
uses: pages, tickets
"""

import re


def solve(agent, task):
    open_titled(agent, task.params["summary"])
    while True:
        others = re.findall(r"Duplicate of #(\d+)", "\n".join([text for _, text in comments(agent)]))
        if not others:
            agent.stop(field(agent, task.params["field"]))
        agent.goto(f"/ticket/{others[-1]}")
