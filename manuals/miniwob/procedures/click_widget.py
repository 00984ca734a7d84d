"""Click a widget of the kind that the goal names.

world: miniwob
type: click-widget
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath(f"//*[@data-type='{task.params['target']}']")
