"""Click the button that the goal names; where the other button covers it, reach it with the keyboard.

world: miniwob
type: click-test-2
source: written by hand
"""


def solve(agent, task):
    button = f"//button[text()='{task.params['target']}']"
    agent.click_xpath(button)
    # Still here: the other button lies on top. Tab walks through the buttons in their order on the page.
    place = len(agent.find(button + "/preceding-sibling::button"))
    for _ in range(place + 1):
        agent.press_key("tab")
    agent.press_key("enter")
