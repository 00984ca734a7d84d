"""Click the button that the goal names, where the other button does not cover it.

world: miniwob
type: click-test-2
source: written by hand
"""


def solve(agent, task):
    button = f"//button[text()='{task.params['target']}']"
    agent.click_xpath(button)
    # Still here: the other button, of the same size, covers all of it but a strip along one or two edges.
    box = agent.find(button)[0]["box"]
    width, height = box["width"], box["height"]
    for x, y in ((0.5, height / 2), (width - 0.5, height / 2), (width / 2, 0.5), (width / 2, height - 0.5)):
        agent.click_at(button, x, y)
