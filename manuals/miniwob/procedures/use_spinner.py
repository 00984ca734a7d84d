"""Click the spinner's arrow up or down until it shows the number, and submit.

world: miniwob
type: use-spinner
source: written by hand
"""


def solve(agent, task):
    number = int(task.params["target"])
    arrow = "ui-spinner-up" if number > 0 else "ui-spinner-down"
    for _ in range(abs(number)):  # it starts at 0
        agent.click_xpath(f"//a[contains(@class, '{arrow}')]")
    agent.click_xpath("//*[@id='subbtn']")
