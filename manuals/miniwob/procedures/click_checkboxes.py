"""Tick the boxes that the goal lists, or none of them, and click Submit.

world: miniwob
type: click-checkboxes
source: written by hand
uses: checkboxes
"""


def solve(agent, task):
    tick_and_submit(agent, task.params.get("targets", []))
