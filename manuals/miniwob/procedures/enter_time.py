"""Go to the first part of the time field, type hour, minute and A or P, and submit.

world: miniwob
type: enter-time
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath("//input[@type='time']")
    agent.press_key("arrow_left")  # the click may have landed on AM or the minute
    agent.press_key("arrow_left")
    agent.type(task.params["target"].replace(":", "").replace("M", "").zfill(5))  # 9:37PM is typed as 0937P
    agent.click_xpath("//*[@id='subbtn']")
