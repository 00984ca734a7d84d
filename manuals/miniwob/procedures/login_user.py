"""Log in with the user name and the password of the goal.

world: miniwob
type: login-user
source: written by hand
"""


def solve(agent, task):
    agent.click_xpath("//*[@id='username']")
    agent.type(task.params["username"])
    agent.click_xpath("//*[@id='password']")
    agent.type(task.params["password"])
    agent.click_xpath("//*[@id='subbtn']")
