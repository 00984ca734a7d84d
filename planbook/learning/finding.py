"""Task types that a building run finds: the type of each episode, and the procedures published for a type."""

import logging
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from planbook.envs import Task
from planbook.learning.postconditions import Reading, postcondition
from planbook.planner import BadProcedure, Procedure, Scope, Trajectory
from planbook.rules import (
    PATTERN,
    FoundType,
    Knowledge,
    Solved,
    describe_type,
    learned_procedure,
    match,
    procedure_code,
    with_solved,
    with_type,
)

LOG = logging.getLogger(__name__)


def with_found_type(knowledge: Knowledge, task: Task) -> Task:
    """Return a task with its found type and params, from the type that has it as an example, else from its goal."""
    for kind in knowledge.found:
        for example in kind.examples:
            if example.task_id == task.id:
                return task.model_copy(update={"type": kind.name, "params": example.params})
    return with_type(task, match(knowledge.found, task.goal))


def typed_episode(knowledge: Knowledge, episode: Trajectory) -> Trajectory:
    """Return an episode whose task has its found type and params."""
    return episode.model_copy(update={"task": with_found_type(knowledge, episode.task)})


def find_type(scope: Scope, knowledge: Knowledge, episode: Trajectory, code: str, *, describes: bool) -> Knowledge:
    """Return the knowledge with a solved task added to its type, or to a new type if both plan and wording are new.

    A task whose goal fits the pattern of a type is of that type, whatever its plan: later only the goal can decide.
    ``describes`` lets the Builder name new types. Raises ModelError, BudgetEnded.
    """
    if not episode.ending.outcome.solved or not code.strip():
        return knowledge
    task, known = episode.task, {found.name for found in knowledge.found}
    matched = match(knowledge.found, task.goal)
    kind = matched.type if matched.by == PATTERN else ""
    try:
        types = with_solved(knowledge.found, Solved(task.id, task.goal, code, kind, matched.params))
    except (SyntaxError, ValueError, RecursionError) as error:
        LOG.info("no type was found for %s: %s", task.id, error)
        return knowledge
    if describes and types[-1].name not in known:
        types = (*types[:-1], describe_type(scope.child("type"), types[-1], known))
    return knowledge.model_copy(update={"found": types})


def type_named(knowledge: Knowledge, name: str) -> FoundType | None:
    """Return the found type with that name, or None."""
    return next((found for found in knowledge.found if found.name == name), None)


def from_plans(
    knowledge: Knowledge, played: Sequence[Trajectory], environment: type, options: BaseModel | None
) -> Procedure | None:
    """Turn the plans of a found type into one procedure; None if they do not generalise.

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


def publish(knowledge: Knowledge, before: Knowledge, name: str, *, repaired: bool) -> Knowledge:
    """Return the knowledge with the next version of a found type if its procedure is new.

    ``repaired`` means that an earlier version failed.
    """
    found = type_named(knowledge, name)
    if found is None or knowledge.procedures.get(name) == before.procedures.get(name):
        return knowledge
    counts = {"version": found.version + 1, "repairs": found.repairs + repaired}
    return _with_type(knowledge, found.model_copy(update=counts))


def with_readings(knowledge: Knowledge, name: str, readings: Mapping[str, Reading | None]) -> Knowledge:
    """Return the knowledge with the readings after tasks of a found type, by task id, and their post-condition."""
    found = type_named(knowledge, name)
    if found is None:
        return knowledge
    examples = tuple(each.model_copy(update={"read": readings.get(each.task_id, each.read)}) for each in found.examples)
    check = postcondition([each.read for each in examples], [each.params for each in examples])
    return _with_type(knowledge, found.model_copy(update={"examples": examples, "check": check}))


def _with_type(knowledge: Knowledge, found: FoundType) -> Knowledge:
    types = tuple(found if each.name == found.name else each for each in knowledge.found)
    return knowledge.model_copy(update={"found": types})
