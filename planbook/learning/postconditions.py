"""Post-conditions of procedures: what an agent could read after each of the solved tasks that a procedure did."""

import json
from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any

from pydantic import BaseModel, JsonValue

from planbook.envs import ActionSpec, Environment
from planbook.planner import AGENT, TASK, Episode, Trajectory, given_code
from planbook.rules import MIN_EXAMPLES

LOOK = "look"
"""Source of the cell that reads what holds after a procedure."""
Reading = Mapping[str, JsonValue]
"""What could be read, by the expression that reads it."""


def play_and_look(episode: Episode, options: BaseModel) -> None:
    """Run a procedure, then record every attribute, and every query and read-only tool that needs no argument."""
    given_code(episode, options)
    expressions = readable(episode.environment)
    if expressions and not episode.feedbacks[-1].is_error:
        lines = [f"try:\n    read[{each!r}] = {each}\nexcept Exception:\n    pass" for each in expressions]
        with episode.frame(LOOK):
            episode.run("\n".join(["import json", "read = {}", *lines, "print(json.dumps(read))"]), source=LOOK)


def readable(environment: Environment) -> list[str]:
    """Return the expressions of plan code that read something of an environment and need no argument."""
    tools = getattr(environment, "tools", {})
    reading = [
        spec for name, spec in environment.offer.actions.items() if name in tools and tools[name].effect == "read"
    ]
    calls = [spec for spec in (*environment.offer.queries.values(), *reading) if _needs_nothing(spec)]
    return [*(f"{AGENT}.{name}" for name in environment.attributes), *(f"{AGENT}.{spec.name}()" for spec in calls)]


def _needs_nothing(spec: ActionSpec) -> bool:
    return all(each.default is not Parameter.empty for each in spec.signature.parameters.values())


def read_after(episode: Trajectory) -> Reading | None:
    """Return what was read after a solved task; None if nothing was, as where the task ended its episode."""
    cells = [cell for played in episode.rounds for cell in played.cells if cell.source == LOOK]
    try:
        found: Any = json.loads(cells[-1].feedback.output) if cells else None
    except ValueError:
        return None
    return found if episode.ending.outcome.solved else None


def postcondition(readings: Sequence[Reading | None], params: Sequence[Mapping[str, JsonValue]]) -> str:
    """Return plan code that raises unless what held after all tasks holds; empty if nothing is known to.

    That is what was the same after several tasks, and what was always the value of the same parameter.
    """
    known = [reading for reading in readings if reading is not None]
    if not known or len(known) < len(readings):
        return ""
    lines = list[str]()
    for expression in known[0]:
        values = [reading.get(expression) for reading in known]
        if wanted := _wanted(values, params):
            lines.append(f'assert {expression} == {wanted}, f"after the procedure {expression} is {{{expression}!r}}"')
    return "\n".join(lines)


def _wanted(values: Sequence[JsonValue], params: Sequence[Mapping[str, JsonValue]]) -> str:
    same = all(value == values[0] for value in values)
    if same and len(values) >= MIN_EXAMPLES:
        return repr(values[0])
    if same or None in values:
        return ""
    names = (name for name in params[0] if [each.get(name) for each in params] == list(values))
    return next((f"{TASK}.params[{name!r}]" for name in names), "")
