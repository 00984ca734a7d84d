"""Functions that find things in boxes."""

import re


def boxes_in(observation):
    """Return the names of the boxes that the first observation lists."""
    return re.findall(r"box_\d+", observation)


def fetch(agent, thing, boxes):
    """Open the boxes in order until one contains the thing, and put it on the table; AssertionError if none does."""
    for box in boxes:
        inside = agent.open(box).partition("you see ")[2]
        if thing in inside:
            agent.take(thing, box)
            agent.put(thing)
            return
    raise AssertionError(f"no {thing} in any of {boxes}")
