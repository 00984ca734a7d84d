"""Click on the button with the label of the goal; capital and small letters differ.

world: miniwob
type: click-button
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath(f"//button[text()='{task.params['target']}']")
