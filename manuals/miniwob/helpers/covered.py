"""Clicking on what something else may cover."""


def click_showing(agent, xpath):
    """Click on an element; if another one of its size lies over it, in the middle of an edge where it still shows."""
    if not refused(agent.click_xpath(xpath)):
        return
    box = agent.find(xpath)[0]["box"]
    left, top, right, bottom = 0.5, 0.5, box["width"] - 0.5, box["height"] - 0.5
    for x, y in ((left, bottom / 2), (right, bottom / 2), (right / 2, top), (right / 2, bottom)):
        if not refused(agent.click_at(xpath, x, y)):
            return


def refused(answer):
    """Whether an action did nothing."""
    return answer.startswith("Nothing happens")
