"""Click on the underlined word of the goal; the same word may stand elsewhere without a link.

world: miniwob
type: click-link
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath(f"//span[@class='alink'][text()='{task.params['target']}']")
