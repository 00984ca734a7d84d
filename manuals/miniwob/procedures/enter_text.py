"""Type the text of the goal into the field and submit.

world: miniwob
type: enter-text
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath("//input[@type='text']")
    agent.type(task.params["target"])
    agent.click_xpath("//*[@id='subbtn']")
