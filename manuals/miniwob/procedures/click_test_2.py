"""Click the button that the goal names, where the other button does not cover it.

world: miniwob
type: click-test-2
source: written by hand
"""


def solve(agent, task):
    button = f"//button[text()='{task.params['target']}']"
    agent.click_xpath(button)
    # Still here: the other button, of the same size, covers all but a strip along one or two edges.
    box = agent.find(button)[0]["box"]
    right, bottom = box["width"], box["height"]
    for x, y in ((0.5, bottom / 2), (right - 0.5, bottom / 2), (right / 2, 0.5), (right / 2, bottom - 0.5)):
        agent.click_at(button, x, y)
