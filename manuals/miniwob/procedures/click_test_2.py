"""Click the button that the goal names, even where the other button lies over it.

world: miniwob
type: click-test-2
source: written by hand
uses: covered
"""


def solve(agent, task):
    click_showing(agent, f"//button[text()='{task.params['target']}']")
