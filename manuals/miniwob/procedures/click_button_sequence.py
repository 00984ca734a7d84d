"""Click button ONE, then button TWO, even where TWO lies over ONE.

world: miniwob
type: click-button-sequence
source: written by hand
"""


def solve(agent, task):
    click_edge(agent, "//button[text()='ONE']")
    agent.click_xpath("//button[text()='TWO']")


def click_edge(agent, button):
    """Click in the middle of an edge: one of the four shows, whatever button lies over this one.

    A click at a point that something else covers is refused, and does no harm.
    """
    box = agent.find(button)[0]["box"]
    left, top, right, bottom = 0.5, 0.5, box["width"] - 0.5, box["height"] - 0.5
    for x, y in [(left, bottom / 2), (right, bottom / 2), (right / 2, top), (right / 2, bottom)]:
        if not agent.click_at(button, x, y).startswith("Nothing happens"):
            return
