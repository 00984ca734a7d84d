"""Follow a path such as Ann>Bea>Cora: point at each entry to open its menu, click on the last.

world: miniwob
type: click-menu
source: written by hand
"""


def solve(agent, task):
    *parents, last = task.params["target"].split(">")
    entries = "//*[@id='menu']"
    for name in parents:
        agent.move_mouse_on(f"{entries}/li/div[text()='{name}']")
        entries += f"/li[div[text()='{name}']]/ul"
    agent.click_xpath(f"{entries}/li/div[text()='{last}']")
