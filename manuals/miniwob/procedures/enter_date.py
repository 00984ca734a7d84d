"""Type the date into the date field, month, day, year, and submit.

world: miniwob
type: enter-date
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath("//input[@type='date']")
    agent.type(task.params["target"].replace("/", ""))  # 05/20/2010: the field puts the slashes itself
    agent.click_xpath("//*[@id='subbtn']")
