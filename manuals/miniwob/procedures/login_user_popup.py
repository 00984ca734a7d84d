"""Log in with the user name and the password of the goal, and cancel the box that may pop up in between.

world: miniwob
type: login-user-popup
source: written by hand
"""


def cancel_popup(agent):
    """Close the box if it is there; it takes the focus away."""
    if agent.find("//*[@id='popup']"):
        agent.click_xpath("//*[@id='popup-cancel']")
        return True
    return False


def fill(agent, field, text):
    agent.click_xpath(field)
    if cancel_popup(agent):
        agent.click_xpath(field)
    agent.type(text)


def solve(agent, task):
    fill(agent, "//*[@id='username']", task.params["username"])
    fill(agent, "//*[@id='password']", task.params["password"])
    agent.click_xpath("//*[@id='subbtn']")
