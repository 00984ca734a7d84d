"""Click button ONE, then button TWO, even where TWO lies over ONE.

world: miniwob
type: click-button-sequence
source: written by hand
uses: covered
"""


def solve(agent, task):
    click_showing(agent, "//button[text()='ONE']")
    agent.click_xpath("//button[text()='TWO']")
