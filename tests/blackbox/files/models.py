"""Scripted models, as README.md describes them."""

PLAN = """### Understanding
Look everywhere.
### Code
```python
import re

for box in re.findall(r"box_\\d+", task.observation):
    seen = agent.open(box)
    for thing in task.params["things"]:
        if thing in seen:
            agent.take(thing, box)
            agent.put(thing)
```"""


def plans(messages, sampling):
    """Write the plan that solves any task of the toy environment."""
    return PLAN


def chats(messages, sampling):
    """Never give a usable reply."""
    return "I would rather talk about the weather."


def packs(messages, sampling):
    """Answer the questions of trip.yaml."""
    asked = messages[-1].content
    for mark, reply in (("How heavy", "light"), ("Will it rain", "yes"), ("brought along", "An umbrella.")):
        if mark in asked:
            return reply
    return "yes"
