"""Click on a button of the dialog: Cancel, OK, or the cross that the goal calls x.

world: miniwob
type: click-dialog-2
source: written by hand
"""


def solve(agent, task):
    label = task.params["target"]
    agent.click_xpath("//button[@title='Close']" if label == "x" else f"//button[text()='{label}']")
