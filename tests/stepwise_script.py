"""A scripted model for the toy environment. Its plans have many steps: the first fails midway, the second succeeds."""

import re
from collections.abc import Sequence

from planbook.planner import Message, Sampling


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply to a conversation whose second message describes the task."""
    task = messages[1].content
    task = task[task.rindex("# The task") :]
    boxes = re.findall(r"box_\d+", task.split("and a table")[0])
    things = re.findall(r"put the (.*) on the table", task)[0].split(" and the ")
    lines = [f"seen_{number} = agent.open({box!r})" for number, box in enumerate(boxes)]
    if len(messages) == 2:
        middle = len(lines) // 2
        lines[middle:middle] = ["assert seen_0 == '', 'Step 1: nothing'"]
    for thing in things:
        for number, box in enumerate(boxes):
            lines += [f"if {thing!r} in seen_{number}:", f"    agent.take({thing!r}, {box!r})"]
        lines += [f"agent.put({thing!r})"]
    code = "\n".join(lines)
    return f"### Understanding\nMany boxes.\n### Code\n```python\n{code}\n```\nThat is all there is to do.\n"
