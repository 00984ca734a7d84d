"""List the files in the terminal and remove one that has the wanted extension, or none.

world: miniwob
type: terminal
source: written by hand
"""

import re


def files(agent):
    """What ls prints: the last output that says something."""
    outputs = [found["text"] for found in agent.find("//*[@class='terminal-output']") if found["text"]]
    return outputs[-1].split()


def fits(name, extension):
    """Whether the name ends so; a name that has these letters earlier as well is not taken by the page."""
    if not extension:
        return "." not in name
    return name.endswith("." + extension) and name.find(extension) + len(extension) == len(name)


def solve(agent, task):
    found = re.search(r"extension \.(\S+)", task.goal)
    extension = found.group(1) if found else ""
    agent.click_xpath("//*[@id='terminal']")
    agent.type("ls")
    agent.press_key("enter")
    names = files(agent)
    good = [name for name in names if fits(name, extension)]
    usable = good or [name for name in names if name.endswith("." + extension)]
    agent.type("rm " + usable[0])
    agent.press_key("enter")
