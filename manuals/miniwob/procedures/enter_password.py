"""Type the password into both fields and submit.

world: miniwob
type: enter-password
source: written by hand
"""


def solve(agent, task):
    for field in ("password", "verify"):
        agent.click_xpath(f"//*[@id='{field}']")
        agent.type(task.params["target"])
    agent.click_xpath("//*[@id='subbtn']")
