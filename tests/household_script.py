"""A scripted model for ALFWorld without task types: its plans are the shipped procedures, with values from the goal.

Its plans for one type of task differ only in constants; a procedure that it is asked for reads params instead.
"""

import json
import re
from collections.abc import Mapping, Sequence

from planbook.envs.alfworld.tasks import params_of
from planbook.planner import Message, Sampling
from tools.bench.household import PROCEDURES, TYPES


def answer(messages: Sequence[Message], sampling: Sampling) -> str:
    """Reply to a planning prompt, to a request for a procedure, or to a request for the name of a type."""
    asked = messages[-1].content
    if asked.startswith("# Tasks that the same plan solved"):
        return json.dumps({"name": _type(asked.split("- ", 1)[1]), "summary": "", "parameters": {}})
    if "# A task that was done" in messages[1].content:
        goal = messages[1].content.partition("The task: ")[2].partition("\n")[0]
        params = json.loads(messages[1].content.rpartition("for the task above it is ")[2].partition("\n")[0])
        own = {value: f"task.params[{name!r}]" for name, value in params.items()}
        return _reply(_plan(goal, {name: own.get(value, repr(value)) for name, value in params_of(goal).items()}))
    goal = messages[1].content.rpartition("Your task is to: ")[2].partition("\n")[0].rstrip(".")
    code = _plan(goal, {name: repr(value) for name, value in params_of(goal).items()})
    return "### Plan\nGo.\n" + _reply(f"{code}\n\n\nsolve(agent, task)")


def _type(goal: str) -> str:
    return next(kind for words, kind in TYPES if re.search(words, goal))


def _plan(goal: str, values: Mapping[str, str]) -> str:
    return re.sub(r'task\.params\["(\w+)"\]', lambda found: values.get(found[1], "''"), PROCEDURES[_type(goal)])


def _reply(code: str) -> str:
    return f"```python\n{code}\n```\n"
