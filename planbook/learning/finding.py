"""Find a type for each episode (`planbook build --types found`), and make procedures for the found types.

A found type is a group of solved tasks with the same kind of plan (``planbook.rules.found_types``). Its post-condition
is code that runs after the type's procedure, and raises an error if the procedure did not have the usual effect. To
find it, planbook reads every value of the environment that plan code can read after each task that the procedure
solves. A value that was the same after all of these tasks is expected after the next task, too.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any

from pydantic import BaseModel, JsonValue

from planbook.config import FOUND, Config
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
"""The recorded ``source`` of the code that reads values, by which this code is found in an episode's record."""
Reading = Mapping[str, JsonValue]
"""Maps expressions of plan code, such as ``agent.inventory``, to their values after an episode."""


def with_found_type(config: Config, knowledge: Knowledge, task: Task) -> Task:
    """Return a task with the type and params that planbook has found for it.

    Without ``--types found``, return the task unchanged. An example of a found type gets that type and the example's
    params. The goal of any other task is matched with the patterns of the found types.
    """
    if config.types != FOUND:
        return task
    task = task.model_copy(update=config.task_overrides(task))
    for found_type in knowledge.found:
        for example in found_type.examples:
            if example.task_id == task.id:
                return task.model_copy(update={"type": found_type.name, "params": example.params})
    return with_type(task, match(knowledge.found, task.goal))


def episode_with_found_type(config: Config, knowledge: Knowledge, episode: Trajectory) -> Trajectory:
    """Return an episode whose task has its found type and params, as in ``with_found_type``."""
    return episode.model_copy(update={"task": with_found_type(config, knowledge, episode.task)})


def find_type(scope: Scope, knowledge: Knowledge, episode: Trajectory, code: str, *, describe: bool) -> Knowledge:
    """Return the knowledge with the task of an episode added to a found type. ``code`` is the plan that solved it.

    The task is added to a type with the same kind of plan, or else to a type with a pattern that fits the goal, or else
    to a new type. With ``describe``, the Builder (the model that writes rules) is asked to name and describe a new
    type. If the task was not solved, the knowledge is returned unchanged. Raises ModelError or BudgetEnded if the
    Builder cannot be asked.
    """
    if not episode.ending.outcome.solved or not code.strip():
        return knowledge
    task, known_names = episode.task, {found.name for found in knowledge.found}
    matched = match(knowledge.found, task.goal)
    type_name = matched.type if matched.by == PATTERN else ""
    try:
        types = with_solved_task(knowledge.found, SolvedTask(task.id, task.goal, code, type_name, matched.params))
    except (SyntaxError, ValueError, RecursionError) as error:
        LOG.info("no type was found for %s: %s", task.id, error)
        return knowledge
    if describe and types[-1].name not in known_names:
        types = (*types[:-1], describe_type(scope.child("type"), types[-1], known_names))
    return knowledge.model_copy(update={"found": types})


def found_type_named(knowledge: Knowledge, name: str) -> FoundType | None:
    """Return the found type with this name, or None if there is no such type."""
    return next((found for found in knowledge.found if found.name == name), None)


def generalise_plans(
    knowledge: Knowledge, episodes: Sequence[Trajectory], environment: type, options: BaseModel | None
) -> Procedure | None:
    """Turn the plans of a found type into a procedure, without asking a model. Return None if that is not possible.

    The type is the type of the last episode in ``episodes``.
    """
    task_type = episodes[-1].task.type
    found_type = found_type_named(knowledge, task_type)
    if found_type is None:
        return None
    source = f"learnt from the plans of {', '.join(example.task_id for example in found_type.examples)}"
    try:
        code = procedure_code(found_type)
        return learned_procedure(code, task_type, environment, source, options) if code is not None else None
    except (BadProcedure, SyntaxError, ValueError, RecursionError) as error:
        LOG.info("no procedure could be made from the plans of %s: %s", task_type, error)
        return None


def with_updated_type(
    knowledge: Knowledge, previous: Knowledge, name: str, readings: Mapping[str, Reading | None], *, repaired: bool
) -> Knowledge:
    """Return the knowledge with a found type updated after its procedure was verified.

    ``readings`` maps task ids to the values that could be read after the procedure solved the task. The examples of the
    type keep them, and a post-condition is derived from them. If the procedure differs from the one in ``previous``,
    the version number increases by one and, with ``repaired``, so does the number of repairs.
    """
    found_type = found_type_named(knowledge, name)
    if found_type is None:
        return knowledge
    examples = tuple(
        old.model_copy(update={"final_values": readings.get(old.task_id, old.final_values)})
        for old in found_type.examples
    )
    check = postcondition([example.final_values for example in examples], [example.params for example in examples])
    is_new = knowledge.procedures.get(name) != previous.procedures.get(name)
    counts = {"version": found_type.version + is_new, "repairs": found_type.repairs + (is_new and repaired)}
    published = found_type.model_copy(update={"examples": examples, "check": check, **counts})
    types = tuple(published if old.name == name else old for old in knowledge.found)
    return knowledge.model_copy(update={"found": types})


def play_and_read(episode: Episode, options: GivenCode) -> None:
    """Run a procedure. If it ends without an error, print the values of all ``readable_expressions`` as JSON."""
    given_code(episode, options)
    expressions = readable_expressions(episode.environment)
    if expressions and not episode.feedbacks[-1].is_error:
        lines = [f"try:\n    read[{code!r}] = {code}\nexcept Exception:\n    pass" for code in expressions]
        with episode.frame(LOOK):
            episode.run("\n".join(["import json", "read = {}", *lines, "print(json.dumps(read))"]), source=LOOK)


def readable_expressions(environment: Environment) -> list[str]:
    """Return the expressions with which plan code can read the state of an environment without changing it.

    These are the attributes of ``agent``, and calls of queries and read-only tools that need no arguments.
    """
    tools = getattr(environment, "tools", {})
    read_only = [
        spec for name, spec in environment.offer.actions.items() if name in tools and tools[name].effect == "read"
    ]
    calls = [spec for spec in (*environment.offer.queries.values(), *read_only) if _needs_no_argument(spec)]
    return [*(f"{AGENT}.{name}" for name in environment.attributes), *(f"{AGENT}.{spec.name}()" for spec in calls)]


def _needs_no_argument(spec: ActionSpec) -> bool:
    return all(parameter.default is not Parameter.empty for parameter in spec.signature.parameters.values())


def final_reading(episode: Trajectory) -> Reading | None:
    """Return the values that ``play_and_read`` read at the end of an episode.

    Return None if the task was not solved, or if nothing was read. (For example, the action that solves a task may end
    the episode.)
    """
    cells = [cell for round_ in episode.rounds for cell in round_.cells if cell.source == LOOK]
    try:
        reading: Any = json.loads(cells[-1].feedback.output) if cells else None
    except ValueError:
        return None
    return reading if episode.ending.outcome.solved else None


def postcondition(readings: Sequence[Reading | None], params: Sequence[Mapping[str, JsonValue]]) -> str:
    """Return plan code that raises an error unless a procedure had the effects that all readings show.

    Each reading is from one task, and ``params`` lists the params of the tasks in the same order. If a value was the
    same after all tasks, and there are at least ``MIN_EXAMPLES`` tasks, the code expects it. If a value differed, but
    always equalled the same param of the task, the code expects this param. Return "" if no value is expected, or if a
    reading is missing.
    """
    available = [reading for reading in readings if reading is not None]
    if not available or len(available) < len(readings):
        return ""
    lines = list[str]()
    for expression in available[0]:
        values = [reading.get(expression) for reading in available]
        if value := _expected(values, params):
            lines.append(f'assert {expression} == {value}, f"after the procedure {expression} is {{{expression}!r}}"')
    return "\n".join(lines)


def _expected(values: Sequence[JsonValue], params: Sequence[Mapping[str, JsonValue]]) -> str:
    """Return source code that evaluates to ``values[i]`` in the i-th task, or "" if there is none."""
    same = all(value == values[0] for value in values)
    if same and len(values) >= MIN_EXAMPLES:
        return repr(values[0])
    if same or None in values:
        return ""
    names = (name for name in params[0] if [task_params.get(name) for task_params in params] == list(values))
    return next((f"{TASK}.params[{name!r}]" for name in names), "")
