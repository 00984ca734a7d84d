"""Click on every square whose colour is a shade of red, green or blue, then on Submit.

world: miniwob
type: click-shades
source: written by hand
"""

import re

PARTS = ("red", "green", "blue")


def solve(agent, task):
    for square in agent.find("//*[@id='area']/span"):
        if shade_of(square["attributes"]["style"]) == task.params["target"]:
            agent.click_xpath(square["xpath"])
    agent.click_xpath("//button[text()='Submit']")


def shade_of(style):
    """The strongest part of a colour: rgb(190, 217, 188) is a shade of green."""
    amounts = [int(number) for number in re.findall(r"\d+", style)]
    return PARTS[amounts.index(max(amounts))]
