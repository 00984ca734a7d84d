"""Expand the only section and click Submit.

world: miniwob
type: click-collapsible
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath("//h3")
    agent.click_xpath("//button[text()='Submit']")
