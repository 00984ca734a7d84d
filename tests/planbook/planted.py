"""A scripted model of the toy environment that solves certain tasks only if it knows certain rules.

There are 20 rules and 30 tasks. Each of the first eight rules is needed by nine tasks, so disabling it costs 30 points
of success. The other rules are useless. One episode in 25 fails by chance.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from planbook.manuals import write_knowledge
from planbook.planner import Message, Sampling, current_question
from planbook.rules import Knowledge, Rule, RuleType

RULES, NEEDED_RULES, TASKS, TASKS_PER_RULE = 20, 8, 30, 9
FIRST_SEED, CHANCE = 100, 25
SOLUTION = """
boxes = [word.strip(",.") for word in task.observation.split() if word.startswith("box_")]
for thing in task.params["things"]:
    for box in boxes:
        if thing in agent.open(box).split("you see ")[-1].rstrip(".").split(", "):
            agent.take(thing, box)
            agent.put(thing)
            break
"""


def write_library(folder: Path) -> None:
    """Write the planted rules as a library."""
    kind = RuleType.SPECIAL_MECHANISM
    rules = tuple(Rule(id=f"rule_{number}", type=kind, content=f"Mind {number} things.") for number in range(RULES))
    write_knowledge(folder, Knowledge(environment="toy", rules=rules))


def needs(rule: int, task: int) -> bool:
    """Return whether a task needs a rule to be solved. Both are given by their numbers."""
    return rule < NEEDED_RULES and (task * 7 + rule * 11) % TASKS < TASKS_PER_RULE


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply with the solution if the prompt has every rule that the task needs, and with a useless plan otherwise."""
    prompt = messages[-1].content
    known = {int(number) for number in re.findall(r"^## rule_(\d+)", prompt, re.MULTILINE)}
    task = int(current_question().place.split("/")[1])
    missing = [rule for rule in range(RULES) if needs(rule, task) and rule not in known]
    unlucky = int(sha256(f"{task}{sorted(known)}".encode()).hexdigest(), 16) % CHANCE == 0
    code = "print('nothing')" if missing or unlucky else SOLUTION
    return f"### Understanding\nBoxes.\n### Rules\n- none\n### Plan\nLook.\n### Code\n```python\n{code}\n```"
