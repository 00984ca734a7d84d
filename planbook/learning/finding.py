"""Find a type for each episode (`planbook build --types found`), and make procedures for the found types.

A found type is a group of solved tasks with the same kind of plan (``planbook.rules.found_types``). Its post-condition
is derived from the values that could be read after the tasks that its procedure solved. If a value was the same after
all of these tasks, it should be the same after the next task that the procedure plays.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any

from pydantic import BaseModel, JsonValue

from planbook.envs import ActionSpec, Environment, Task
from planbook.planner import AGENT, TASK, BadProcedure, Episode, GivenCode, Procedure, Scope, Trajectory, given_code
from planbook.rules import (
    MIN_EXAMPLES,
    PATTERN,
    FoundType,
    Knowledge,
    SolvedTask,
    describe_type,
    learned_procedure,
    match,
    procedure_code,
    with_solved_task,
    with_type,
)

LOG = logging.getLogger(__name__)
LOOK = "look"
"""Marks the piece of plan code that reads values after a procedure, to find it in the episode's record."""
Reading = Mapping[str, JsonValue]
"""Maps expressions of plan code, such as ``agent.inventory``, to the values that they had."""


def with_found_type(knowledge: Knowledge, task: Task) -> Task:
    """Return a task with its found type and params.

    If the task is an example of a found type, it has that type. Otherwise its goal is matched with the found types.
    """
    for kind in knowledge.found:
        for example in kind.examples:
            if example.task_id == task.id:
                return task.model_copy(update={"type": kind.name, "params": example.params})
    return with_type(task, match(knowledge.found, task.goal))


def typed_episode(knowledge: Knowledge, episode: Trajectory) -> Trajectory:
    """Return an episode with the found type and params of its task."""
    return episode.model_copy(update={"task": with_found_type(knowledge, episode.task)})


def find_type(scope: Scope, knowledge: Knowledge, episode: Trajectory, code: str, *, describe: bool) -> Knowledge:
    """Return the knowledge with a solved task added to its type, or to a new type if both its plan and wording are new.

    If the goal fits the pattern of a type, the task has this type, whatever its plan is: when the knowledge is used,
    only the goal is known. With ``describe``, the Builder (the model that writes rules) is asked to name and describe a
    new type. Raises ModelError or BudgetEnded if it cannot be asked.
    """
    if not episode.ending.outcome.solved or not code.strip():
        return knowledge
    task, known = episode.task, {found.name for found in knowledge.found}
    matched = match(knowledge.found, task.goal)
    kind = matched.type if matched.by == PATTERN else ""
    try:
        types = with_solved_task(knowledge.found, SolvedTask(task.id, task.goal, code, kind, matched.params))
    except (SyntaxError, ValueError, RecursionError) as error:
        LOG.info("no type was found for %s: %s", task.id, error)
        return knowledge
    if describe and types[-1].name not in known:
        types = (*types[:-1], describe_type(scope.child("type"), types[-1], known))
    return knowledge.model_copy(update={"found": types})


def type_named(knowledge: Knowledge, name: str) -> FoundType | None:
    """Return the found type with this name, or None if there is none."""
    return next((found for found in knowledge.found if found.name == name), None)


def generalise_plans(
    knowledge: Knowledge, played: Sequence[Trajectory], environment: type, options: BaseModel | None
) -> Procedure | None:
    """Turn the plans of a found type into a procedure, without asking a model. Return None if that is not possible.

    ``played`` are episodes of the type.
    """
    kind = played[-1].task.type
    found = type_named(knowledge, kind)
    if found is None:
        return None
    source = f"learnt from {', '.join(example.task_id for example in found.examples)} by their plans"
    try:
        code = procedure_code(found)
        return learned_procedure(code, kind, environment, source, options) if code is not None else None
    except (BadProcedure, SyntaxError, ValueError, RecursionError) as error:
        LOG.info("the plans of %s make no procedure: %s", kind, error)
        return None


def with_next_version(knowledge: Knowledge, previous: Knowledge, name: str, *, repaired: bool) -> Knowledge:
    """Return the knowledge with the version number of a found type increased, if its procedure is new.

    ``previous`` is the knowledge before the procedure was written. ``repaired`` tells whether this counts
    as a repair.
    """
    found = type_named(knowledge, name)
    if found is None or knowledge.procedures.get(name) == previous.procedures.get(name):
        return knowledge
    counts = {"version": found.version + 1, "repairs": found.repairs + repaired}
    return _with_type(knowledge, found.model_copy(update=counts))


def with_readings(knowledge: Knowledge, name: str, readings: Mapping[str, Reading | None]) -> Knowledge:
    """Return the knowledge with new readings for the examples of a found type, and the post-condition that follows.

    ``readings`` maps task ids to the values that could be read after the procedure solved the task.
    """
    found = type_named(knowledge, name)
    if found is None:
        return knowledge
    examples = tuple(old.model_copy(update={"read": readings.get(old.task_id, old.read)}) for old in found.examples)
    check = postcondition([example.read for example in examples], [example.params for example in examples])
    return _with_type(knowledge, found.model_copy(update={"examples": examples, "check": check}))


def _with_type(knowledge: Knowledge, found: FoundType) -> Knowledge:
    types = tuple(found if old.name == found.name else old for old in knowledge.found)
    return knowledge.model_copy(update={"found": types})


# Post-conditions of procedures


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
