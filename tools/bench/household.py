"""A scripted model for ALFWorld. Its plans are the shipped procedures, so they are as long as those of real models.

For two thirds of the tasks, the first plan searches only a few places, and usually fails. Later plans are complete.
"""

import re
from collections.abc import Sequence
from hashlib import sha256

from planbook.manuals import SHIPPED, module_procedures
from planbook.planner import Message, Sampling

TYPES = (
    ("two ", "pick_two_obj"),
    ("look at|examine", "look_at_obj"),
    ("clean", "pick_clean_then_place"),
    ("hot|heat", "pick_heat_then_place"),
    ("cool|cold", "pick_cool_then_place"),
    ("", "pick_and_place"),
)
"""Pairs of a pattern for goal sentences and a task type. The first pattern that matches decides."""
HOUSEHOLD = SHIPPED / "alfworld" / "procedures" / "household.py"
PROCEDURES = {shipped.type: shipped.code.split('"""', 2)[2].strip() for shipped in module_procedures(HOUSEHOLD)}
"""Maps each task type to the code of its procedure, without the docstring."""
REMARKS = (
    "likely to hold one",
    "a place where such things are kept",
    "worth a look on the way",
    "the last to be opened",
)
ALL_PLACES = "places_in(task.observation)"


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return the reply to a conversation, whose second message ends with a description of the task."""
    scene = messages[1].content[messages[1].content.rindex("You are in the middle") :]
    goal = scene.partition("Your task is to: ")[2].partition("\n")[0]
    places = re.findall(r"[a-z]+_\d+", scene)
    chance = int.from_bytes(sha256(scene.encode()).digest()[:4])
    plan = PROCEDURES[next(task_type for pattern, task_type in TYPES if re.search(pattern, goal))]
    if len(messages) == 2 and chance % 3:
        plan = plan.replace(ALL_PLACES, f"{ALL_PLACES}[:{2 + chance % 4}]")
    code = f"{plan}\n\n\nprint('looking for', task.params)\nsolve(agent, task)"
    return f"{_thought(goal, places, chance)}\n### Code\n```python\n{code}\n```\n"


def _thought(goal: str, places: Sequence[str], chance: int) -> str:
    remarks = (f"{place} is {REMARKS[(chance >> number) % len(REMARKS)]}." for number, place in enumerate(places))
    order = "\n".join(f"{number}. Go to {place} and look." for number, place in enumerate(places, 1))
    return f"### Understanding\n{goal} {' '.join(remarks)}\n### Rules\n- rule_0: go and look.\n### Plan\n{order}"
