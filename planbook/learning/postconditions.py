"""Post-conditions of procedures, derived from the values that could be read after tasks that a procedure solved.

If a value was the same after all of these tasks, it should be the same after the next task that the procedure plays.
"""

import json
from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any

from pydantic import JsonValue

from planbook.envs import ActionSpec, Environment
from planbook.planner import AGENT, TASK, Episode, GivenCode, Trajectory, given_code
from planbook.rules import MIN_EXAMPLES

LOOK = "look"
"""Marks the piece of plan code that reads values after a procedure, to find it in the episode's record."""
Reading = Mapping[str, JsonValue]
"""Maps expressions of plan code, such as ``agent.inventory``, to the values that they had."""


def play_and_read(episode: Episode, options: GivenCode) -> None:
    """Run a procedure. Then call the queries and read-only tools that need no arguments, and read all attributes.

    The values are printed as JSON.
    """
    given_code(episode, options)
    expressions = readable_expressions(episode.environment)
    if expressions and not episode.feedbacks[-1].is_error:
        lines = [f"try:\n    read[{code!r}] = {code}\nexcept Exception:\n    pass" for code in expressions]
        with episode.frame(LOOK):
            episode.run("\n".join(["import json", "read = {}", *lines, "print(json.dumps(read))"]), source=LOOK)


def readable_expressions(environment: Environment) -> list[str]:
    """Return the expressions with which plan code can read values of an environment without giving arguments."""
    tools = getattr(environment, "tools", {})
    read_only = [
        spec for name, spec in environment.offer.actions.items() if name in tools and tools[name].effect == "read"
    ]
    calls = [spec for spec in (*environment.offer.queries.values(), *read_only) if _needs_no_argument(spec)]
    return [*(f"{AGENT}.{name}" for name in environment.attributes), *(f"{AGENT}.{spec.name}()" for spec in calls)]


def _needs_no_argument(spec: ActionSpec) -> bool:
    return all(parameter.default is not Parameter.empty for parameter in spec.signature.parameters.values())


def read_after(episode: Trajectory) -> Reading | None:
    """Return the values that were read after a solved task.

    Return None if the task was not solved, or if nothing was read, for example because solving it ended the episode.
    """
    cells = [cell for round_ in episode.rounds for cell in round_.cells if cell.source == LOOK]
    try:
        reading: Any = json.loads(cells[-1].feedback.output) if cells else None
    except ValueError:
        return None
    return reading if episode.ending.outcome.solved else None


def postcondition(readings: Sequence[Reading | None], params: Sequence[Mapping[str, JsonValue]]) -> str:
    """Return plan code that raises an error if it does not read the values that all readings have in common.

    Readings have a value in common if it was the same after at least ``MIN_EXAMPLES`` tasks, or if it was always equal
    to the same param of the task. ``params`` holds the params of each task. Return "" if there are no such values, or
    if a reading is missing.
    """
    known = [reading for reading in readings if reading is not None]
    if not known or len(known) < len(readings):
        return ""
    lines = list[str]()
    for expression in known[0]:
        values = [reading.get(expression) for reading in known]
        if value := _expected(values, params):
            lines.append(f'assert {expression} == {value}, f"after the procedure {expression} is {{{expression}!r}}"')
    return "\n".join(lines)


def _expected(values: Sequence[JsonValue], params: Sequence[Mapping[str, JsonValue]]) -> str:
    """Return the source of an expression that is equal to all values, or "" if they have nothing in common."""
    same = all(value == values[0] for value in values)
    if same and len(values) >= MIN_EXAMPLES:
        return repr(values[0])
    if same or None in values:
        return ""
    names = (name for name in params[0] if [task_params.get(name) for task_params in params] == list(values))
    return next((f"{TASK}.params[{name!r}]" for name in names), "")
