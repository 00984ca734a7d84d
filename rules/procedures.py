"""Turn the code of a solved task into a procedure for its whole task type, and verify it on other tasks.

The AutoManual paper does not have this step. A model is asked to generalise the code. Its reply is checked, and the new
code gets a standard header, which names the environment, the task type, and the tasks from which it was learned.
"""

import ast
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, JsonValue

from planbook.envs import Environment, Task
from planbook.planner import (
    PLANNER_ROLE,
    TASK,
    BadProcedure,
    Message,
    Procedure,
    RenderedText,
    Reply,
    Scope,
    Text,
    Trajectory,
    UnusableReply,
    about_the_environment,
    checked_procedure,
    fence_around,
    parse_procedure,
    procedure_faults,
)
from planbook.rules.rendering import PROMPTS, render_manual, shorten
from planbook.rules.types import Knowledge, LearnedRecord, Skill, first_observation
from planbook.sandbox import parse_source, read_reply

MAX_CODE = 20_000
"""Maximum number of characters in the code of a procedure."""


def procedure_reader(
    task: Task, environment: type[Environment], options: BaseModel | None = None
) -> Callable[[str], str]:
    """Return a function that reads a model's reply and returns the code of the procedure in it, without a header.

    The procedure is for tasks of the same type as ``task``. If it has faults, the function raises ValueError with a
    message for the model that lists them all.
    """
    forbidden = {"id": "a procedure must work for every task of its type: do not use task.id"}
    if not environment.public_params(task):
        forbidden["params"] = "task.params must not be used for tasks of this type: read task.goal"

    def read(text: str) -> str:
        reply = read_reply(text)
        if reply.problem is not None:
            raise ValueError(str(reply.problem))
        if len(reply.code) > MAX_CODE:
            raise ValueError(f"the procedure has {len(reply.code)} characters; at most {MAX_CODE} are allowed")
        faults = [str(fault) for fault in procedure_faults(reply.code, environment, options)]
        if faults := faults or _forbidden_reads(reply.code, forbidden):
            raise ValueError("the procedure does not pass the check:\n" + "\n".join(faults))
        return _without_header(reply.code, task, environment, options)

    return read


def learned_procedure(
    code: str, task_type: str, environment: type[Environment], source: str, options: BaseModel | None = None
) -> Procedure:
    """Return the code as a procedure with the standard header. Raises BadProcedure if it does not pass the check."""
    lines = f"world: {environment.name}\ntype: {task_type}\nsource: {_docstring_line(source)}"
    header = f'"""Do a task of type {task_type}.\n\n{lines}\n"""'
    name = f"{task_type.replace('-', '_')}.py"
    return checked_procedure(parse_procedure(f"{header}\n\n\n{code.strip()}\n", name), environment, options)


def params_read(code: str) -> list[str]:
    """Return the name in each expression ``task.params["NAME"]`` of a procedure, including repetitions."""
    return [
        node.slice.value
        for node in ast.walk(parse_source(code))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == f"{TASK}.params"
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    ]


def params_ignored(code: str, names: Collection[str]) -> set[str]:
    """Return the params in ``names`` that a procedure certainly does not read.

    If the procedure uses ``task`` in any other way than ``task.params["NAME"]``, it may read every param, so the result
    is empty.
    """
    read = params_read(code)
    uses = [node for node in ast.walk(parse_source(code)) if isinstance(node, ast.Name) and node.id == TASK]
    return set(names).difference(read) if len(uses) == len(read) else set()


def _forbidden_reads(code: str, forbidden: dict[str, str]) -> list[str]:
    """Return a fault for each forbidden attribute of ``task`` that the code reads.

    ``forbidden`` maps these attributes to the reasons why they must not be read.
    """
    lines = {
        node.attr: node.lineno
        for node in ast.walk(parse_source(code))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == TASK
    }
    return [f"line {lines[name]}: {reason}" for name, reason in forbidden.items() if name in lines]


def _without_header(code: str, task: Task, environment: type[Environment], options: BaseModel | None) -> str:
    """Return the code without its module docstring, if it has one.

    Raises ValueError if the code does not pass the check once the standard header is added.
    """
    tree = parse_source(code)
    if ast.get_docstring(tree) is not None and tree.body[0].end_lineno != tree.body[1].lineno:
        code = "\n".join(code.split("\n")[tree.body[0].end_lineno :])
    try:
        learned_procedure(code, task.type, environment, "to be added", options)
    except BadProcedure as bad:
        raise ValueError(str(bad)) from bad
    return code


def _docstring_line(text: str) -> str:
    """Return the text as one line, with backslashes and double quotes replaced: they could break the docstring."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())


ATTEMPTS = 3
"""Maximum number of procedures that a model may write in one call of ``generalise``."""
MAX_OTHER_TASKS, MAX_FAILURES = 5, 2
"""Maximum numbers of other tasks of the type, and of failures, in a prompt."""
FEEDBACK_CHARACTERS, SCENE_CHARACTERS, FAILURE_CHARACTERS = 8_000, 1_000, 4_000
"""Limits for texts in a prompt: the feedback of the solved task, each other task's first observation, each failure."""


class Verification(LearnedRecord):
    """The result of playing a procedure on one task.

    If the task was not solved, ``feedback`` tells the model that repairs the procedure what happened.
    """

    task_id: str
    solved: bool
    actions: int = 0
    feedback: Text = ""


Verify = Callable[[Procedure], Sequence[Verification]]
"""A function that plays a procedure on one or more tasks of its type, and returns the result for each task."""


class Generalisation(LearnedRecord):
    """The result of generalising a skill.

    ``procedure`` is the one that solved every task on which it was verified, or None. ``attempts`` holds the results of
    each procedure that was tried, in order.
    """

    procedure: Procedure | None = None
    attempts: tuple[tuple[Verification, ...], ...] = ()

    @property
    def other_failure(self) -> str:
        """The feedback of the first failed verification, shortened, or "" if none failed."""
        failures = [result.feedback for results in self.attempts for result in results if not result.solved]
        return shorten(failures[0], FAILURE_CHARACTERS) if failures else ""


def generalise(
    scope: Scope,
    knowledge: Knowledge,
    task_type: str,
    played: Sequence[Trajectory],
    verify: Verify,
    *,
    environment: type[Environment],
    options: BaseModel | None = None,
    actions: int,
    current: Procedure | None = None,
    failed: Sequence[Verification] = (),
) -> Generalisation:
    """Turn the skill for a task type (the code that solved one task) into a procedure for all tasks of the type.

    A model is asked for a procedure, which is then verified. If it fails on a task, the model is shown the failures and
    asked for another one, up to ``ATTEMPTS`` procedures in all.

    ``knowledge`` contains the skill, and is not changed. ``played`` lists the episodes of the build so far, including
    the one from which the skill was taken. ``actions`` is the maximum number of actions in an episode. ``current`` is
    the procedure to replace, if there is one, and ``failed`` holds its failed verifications.

    Raises LookupError if there is no skill, or ModelError or BudgetEnded if the model cannot be asked.
    """
    skill = knowledge.skills[task_type]
    same_type = [episode for episode in played if episode.task.type == task_type]
    read = procedure_reader(skill.task, environment, options)
    history: Sequence[Message] = [about_the_environment(environment, options or environment.Options())]
    prompt, code = PROMPTS["generalise"], current.code if current else ""
    values = _prompt_values(knowledge, skill, same_type, environment, code, _failure_texts(failed))
    values["actions"] = actions
    attempts: list[tuple[Verification, ...]] = []
    while len(attempts) < ATTEMPTS:
        try:
            answer = scope.ask(PLANNER_ROLE, prompt, read=read, history=history, **values)
        except UnusableReply:
            break
        source = _source(skill, same_type, answer.reply)
        procedure = learned_procedure(answer.value, task_type, environment, source, options)
        attempts.append(tuple(verify(procedure)))
        if attempts[-1] and all(result.solved for result in attempts[-1]):
            return Generalisation(procedure=procedure, attempts=tuple(attempts))
        history, prompt, values = answer.history, PROMPTS["generalise_again"], _failure_values(attempts[-1])
    return Generalisation(attempts=tuple(attempts))


def verification_of(trajectory: Trajectory) -> Verification:
    """Return the result of an episode that played a procedure."""
    solved = trajectory.ending.outcome.solved
    feedback = PROMPTS["verification"].render(
        goal=trajectory.task.goal,
        observation=first_observation(trajectory),
        feedback=_feedback(trajectory) or trajectory.ending.message,
    )
    actions = sum(len(round_.steps) for round_ in trajectory.rounds)
    return Verification(task_id=trajectory.task.id, solved=solved, actions=actions, feedback="" if solved else feedback)


def _prompt_values(
    knowledge: Knowledge,
    skill: Skill,
    same_type: Sequence[Trajectory],
    environment: type[Environment],
    procedure: str,
    failures: Sequence[Text],
) -> dict[str, Any]:
    same_task = [episode for episode in same_type if episode.task.id == skill.task.id]
    other_tasks = [episode for episode in same_type if episode.task.id != skill.task.id]
    feedback = shorten(_feedback(same_task[-1]), FEEDBACK_CHARACTERS) if same_task else ""
    return {
        "rules": render_manual(knowledge),
        "skill": skill,
        "happened": feedback,
        "procedure": procedure,
        "failures": failures,
        "fence": fence_around(skill.scene, skill.code, feedback, procedure, *map(first_observation, other_tasks)),
        "params_told": bool(environment.public_params(skill.task)),
        "params": _as_json(environment.public_params(skill.task)),
        "others": [_other_task(episode, environment) for episode in other_tasks[:MAX_OTHER_TASKS]],
    }


def _other_task(episode: Trajectory, environment: type[Environment]) -> dict[str, str]:
    params = _as_json(environment.public_params(episode.task))
    return {
        "goal": episode.task.goal,
        "params": params,
        "scene": shorten(first_observation(episode), SCENE_CHARACTERS),
    }


def _feedback(episode: Trajectory) -> RenderedText:
    """Return the feedback of all cells (pieces of plan code that the episode ran), as one text.

    Recordings of model calls identify this text by the episode's actions and observations, so they remain usable if the
    wording of feedback changes.
    """
    feedbacks = [cell.feedback for round_ in episode.rounds for cell in round_.cells]
    steps = [(step.action, step.observation) for round_ in episode.rounds for step in round_.steps]
    return RenderedText.of("\n\n".join(feedback.text for feedback in feedbacks), steps, feedbacks)


def _as_json(params: Mapping[str, JsonValue]) -> str:
    return json.dumps(dict(params), ensure_ascii=False)


def _failure_values(results: Sequence[Verification]) -> dict[str, Any]:
    failed = [result for result in results if not result.solved]
    return {"total": len(results), "solved": len(results) - len(failed), "failures": _failure_texts(failed)}


def _failure_texts(failed: Sequence[Verification]) -> list[Text]:
    return [shorten(result.feedback, FAILURE_CHARACTERS) for result in failed[:MAX_FAILURES]]


def _source(skill: Skill, same_type: Sequence[Trajectory], reply: Reply) -> str:
    ids = dict.fromkeys((skill.task.id, *(episode.task.id for episode in same_type)))
    author = f"{reply.model}/{PLANNER_ROLE}" if reply.model else PLANNER_ROLE
    return f"learnt from {', '.join(ids)} by {author}"
