"""Choose one or two entries of a list of several choices and click Submit.

world: miniwob
type: click-scroll-list
source: written by hand
"""


def solve(agent, task):
    for name in task.params["target"].split(", "):
        agent.click_option(f"//option[text()='{name}']")
    agent.click_xpath("//button[text()='Submit']")
