"""Click on the tab with the number of the goal.

world: miniwob
type: click-tab
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath(f"//a[text()='Tab #{task.params['target']}']")
