"""Choose an entry of a drop-down list and click Submit.

world: miniwob
type: choose-list
source: written by hand
"""


def solve(agent, task):
    agent.click_option(f"//option[text()='{task.params['target']}']")
    agent.click_xpath("//button[text()='Submit']")
