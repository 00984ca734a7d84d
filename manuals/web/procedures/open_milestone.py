"""Open a milestone from the roadmap.

world: web
type: open_milestone
source: written by hand
uses: pages
"""


def solve(agent, task):
    agent.goto("/roadmap")
    press(agent, "link", f"Milestone: {task.params['milestone']}")
    agent.stop()
