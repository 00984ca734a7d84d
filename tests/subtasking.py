"""A scripted model for ADaPT on the toy environment: it opens a box that the task names, and decomposes other tasks."""

import re
from collections.abc import Sequence

from planbook.planner import Message, Sampling

NOTE = "no idea where it is </script><b>"
GIVEN_UP = f"This is too much.\n```python\nfinish(False, {NOTE!r})\n```"


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as the planner or the executor."""
    asked = messages[-1].content
    if "take apart" in asked:
        return _plan(asked)
    work = next(each.content for each in reversed(messages) if "Your piece of work" in each.content)
    one = re.search(r"put the (\w+) of (box_\d+) on", work.split("# Your piece of work")[-1])
    if one is None:
        return GIVEN_UP
    thing, box = one.groups()
    return (
        "I look.\n```python\n"
        f"if {' ' + thing!r} in agent.open({box!r}):\n    agent.take({thing!r}, {box!r})\n    agent.put({thing!r})\n"
        "    finish(True, 'there')\nfinish(False, 'not there')\n```"
    )


def boastful(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply as an executor that always claims success."""
    return "Done.\n```python\nfinish(True, 'as good as done')\n```"


def _plan(asked: str) -> str:
    things = re.findall(r"the (\w+)", asked.split("take apart\n")[-1])[:-1]
    if len(things) > 1:
        steps = [f"put the {thing} on the table" for thing in things]
        return _listed(steps, "AND")
    boxes = re.findall(r"box_\d+", asked)
    return _listed([f"put the {things[0]} of {box} on the table" for box in boxes], "OR")


def _listed(steps: Sequence[str], operator: str) -> str:
    lines = [f"Step {number}: {step}" for number, step in enumerate(steps, 1)]
    order = f" {operator} ".join(f"Step {number}" for number in range(1, len(steps) + 1))
    return "\n".join(["One by one.", *lines, f"Execution Order: {order}"])
