"""Go to the first part of the date field, type month, day and year, and submit.

world: miniwob
type: enter-date
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath("//input[@type='date']")
    agent.press_key("arrow_left")  # the click may have landed on the year or the day
    agent.press_key("arrow_left")
    agent.type(task.params["target"].replace("/", ""))  # 05/20/2010: the field puts the slashes itself
    agent.click_xpath("//*[@id='subbtn']")
