"""Open the tab that holds the link of the goal, and click on the link.

world: miniwob
type: click-tab-2
source: written by hand
uses: tabs
"""


def solve(agent, task):
    click_link_on_tabs(agent, task.params["target"])
