"""Type the time into the time field, two digits for the hour, and submit.

world: miniwob
type: enter-time
source: written by hand
"""


def solve(agent, task):
    clock = task.params["target"]  # 9:37PM; the field wants 0937P and puts the colon and the M itself
    agent.click_xpath("//input[@type='time']")
    agent.type(clock.replace(":", "").replace("M", "").zfill(5))
    agent.click_xpath("//*[@id='subbtn']")
