"""Choose the radio button with the label of the goal and click Submit.

world: miniwob
type: click-option
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath(f"//label[text()='{task.params['target']}']/input")
    agent.click_xpath("//button[text()='Submit']")
