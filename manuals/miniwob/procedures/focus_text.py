"""Click on the text field: that gives it the focus.

world: miniwob
type: focus-text
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath("//input[@type='text']")
