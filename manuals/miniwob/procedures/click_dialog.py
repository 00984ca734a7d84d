"""Close the dialog by the cross in its corner.

world: miniwob
type: click-dialog
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath("//button[@title='Close']")
