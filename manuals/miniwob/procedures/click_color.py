"""Click on the box of the goal's colour; the goal names it even where the page shows a sample instead.

world: miniwob
type: click-color
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath(f"//*[@id='area']/div[contains(@style, 'background-color: {task.params['target']};')]")
