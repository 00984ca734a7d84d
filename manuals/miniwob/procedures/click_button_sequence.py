"""Click button ONE, then button TWO, even where TWO lies over ONE.

world: miniwob
type: click-button-sequence
source: written by hand
"""

ONE, TWO = "//button[text()='ONE']", "//button[text()='TWO']"


def solve(agent, task):
    if refused(agent.click_xpath(ONE)):
        click_edge(agent, ONE)
    agent.click_xpath(TWO)


def click_edge(agent, button):
    """Click in the middle of an edge: of two buttons of one size, the lower one shows at one of its four edges."""
    box = agent.find(button)[0]["box"]
    left, top, right, bottom = 0.5, 0.5, box["width"] - 0.5, box["height"] - 0.5
    for x, y in [(left, bottom / 2), (right, bottom / 2), (right / 2, top), (right / 2, bottom)]:
        if not refused(agent.click_at(button, x, y)):
            return


def refused(answer):
    """Whether an action did nothing, such as a click on what something else covers."""
    return answer.startswith("Nothing happens")
