"""A scripted model for environments made of tools. It has one plan for each, which is also its procedure."""

from collections.abc import Sequence
from textwrap import indent

from planbook.planner import Message, Sampling

TIDY = """
for number in agent.numbers():
    if task.params["word"] in agent.read(number)["text"]:
        agent.remove(number)
agent.answer()
"""
SIZES = """
for name in agent.list_files():
    if task.params["part"] in agent.read_file(name):
        agent.record(name)
agent.answer()
"""
TAXI = """
import re
WALLS = ["R: | : :G", " : | : : ", " : : : : ", " | : | : ", "Y| : |B: "]
STOPS = [(0, 0), (0, 4), (4, 0), (4, 3)]

def seen(text):
    number = int(re.search(r"observation (\\d+)", text)[1])
    return (number // 100, number // 20 % 5), number // 4 % 5, number % 4

def moves(row, column):
    if row < 4:
        yield 0, (row + 1, column)
    if row > 0:
        yield 1, (row - 1, column)
    if column < 4 and WALLS[row][2 * column + 1] == ":":
        yield 2, (row, column + 1)
    if column > 0 and WALLS[row][2 * column - 1] == ":":
        yield 3, (row, column - 1)

def path(start, end):
    ways, rest = {start: []}, [start]
    while end not in ways:
        place = rest.pop(0)
        for step, following in moves(*place):
            if following not in ways:
                ways[following] = [*ways[place], step]
                rest.append(following)
    return ways[end]

place, passenger, goal = seen(task.observation)
for step in [*path(place, STOPS[passenger]), 4, *path(STOPS[passenger], STOPS[goal]), 5]:
    agent.step(step)
"""
PLANS = {"agent.numbers": TIDY, "agent.list_files": SIZES, "agent.step": TAXI}


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply to a conversation: edits of rules, a procedure, or a plan."""
    asked, conversation = messages[-1].content, "\n".join(message.content for message in messages)
    if "rule_system.stop_generating" in conversation:
        return "### Code\n```python\nrule_system.stop_generating()\n```"
    plan = next(plan for call, plan in PLANS.items() if call in conversation)
    if "def solve(agent, task):" in asked:
        return f"```python\ndef solve(agent, task):\n{indent(plan, '    ')}```"
    return (
        "### Understanding\nIt is clear.\n### Mistakes\nNone\n### Rules\n- none\n### Plan\n1. Do it.\n"
        f"### Code\n```python\n{plan}```"
    )
