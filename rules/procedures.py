"""Beyond the paper: turn the code of a success into a procedure for its task type, and verify it.

A model's reply is checked and gets our header.
"""

import ast
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, JsonValue

from planbook.envs import Environment, Task
from planbook.planner import (
    TASK,
    BadProcedure,
    Message,
    Procedure,
    Rendered,
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
from planbook.rules.retrieval import first_observation
from planbook.rules.telling import PROMPTS, shortened, tell_manual
from planbook.rules.types import Knowledge, Learned, Skill
from planbook.sandbox import parse_source, read_reply

MAX_CODE = 20_000
"""Maximum characters of a procedure."""


def procedure_reader(
    task: Task, environment: type[Environment], options: BaseModel | None = None
) -> Callable[[str], str]:
    """Return a reader of procedures for tasks like this one; it raises ValueError with every fault, for the model."""
    forbidden = {"id": "a procedure must not depend on which task it is: leave task.id out"}
    if not environment.told_params(task):
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
    """Return the code as a procedure, with our header. Raises BadProcedure if it does not pass the check."""
    lines = f"world: {environment.name}\ntype: {task_type}\nsource: {_docstring_line(source)}"
    header = f'"""Do a task of type {task_type}.\n\n{lines}\n"""'
    name = f"{task_type.replace('-', '_')}.py"
    return checked_procedure(parse_procedure(f"{header}\n\n\n{code.strip()}\n", name), environment, options)


def params_read(code: str) -> list[str]:
    """Return the name of the param in each ``task.params["NAME"]`` of a procedure."""
    return [
        node.slice.value
        for node in ast.walk(parse_source(code))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == f"{TASK}.params"
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    ]


def params_ignored(code: str, names: Collection[str]) -> set[str]:
    """Return those of the params that a procedure cannot read; any other use of ``task`` may read all of them."""
    read = params_read(code)
    uses = [node for node in ast.walk(parse_source(code)) if isinstance(node, ast.Name) and node.id == TASK]
    return set(names).difference(read) if len(uses) == len(read) else set()


def _forbidden_reads(code: str, forbidden: dict[str, str]) -> list[str]:
    """Return a fault for each attribute of ``task`` that the code reads although it must not."""
    lines = {
        node.attr: node.lineno
        for node in ast.walk(parse_source(code))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == TASK
    }
    return [f"line {lines[name]}: {reason}" for name, reason in forbidden.items() if name in lines]


def _without_header(code: str, task: Task, environment: type[Environment], options: BaseModel | None) -> str:
    """Return the code without the model's own docstring at the top.

    Raises ValueError if the code with the standard header does not pass the check.
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
    """Return the text as one line that is safe in a docstring."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())


PLANNER = "planner"
ATTEMPTS = 3
"""Total number of replies, including the first."""
OTHERS_SHOWN, FAILURES_SHOWN = 5, 2
"""Maximum numbers of other tasks, and of tasks on which a procedure failed, that a prompt shows."""
FEEDBACK_CHARACTERS, SCENE_CHARACTERS, FAILURE_CHARACTERS = 8_000, 1_000, 4_000
"""Maximum characters of the skill's feedback, of each other scene, and of each failure that a prompt shows."""


class Verification(Learned):
    """The result of a procedure on one task. ``feedback`` is for the model that repairs it; empty if it succeeded."""

    task_id: str
    solved: bool
    actions: int = 0
    feedback: Text = ""


Verify = Callable[[Procedure], Sequence[Verification]]


class Generalised(Learned):
    """The result of generalising a skill: the procedure that solved every task of its verification, if one did.

    ``attempts`` has the results of each procedure that was tried, in order.
    """

    procedure: Procedure | None = None
    attempts: tuple[tuple[Verification, ...], ...] = ()

    @property
    def elsewhere(self) -> str:
        """The feedback of the first failed verification, shortened; "" if none failed."""
        failures = [each.feedback for results in self.attempts for each in results if not each.solved]
        return shortened(failures[0], FAILURE_CHARACTERS) if failures else ""


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
) -> Generalised:
    """Ask for a procedure, verify it, and ask again with its failures, until one has none or ``ATTEMPTS`` are used up.

    ``knowledge`` has a skill of the type; ``played`` holds the building episodes so far, including the skill's;
    ``actions`` is the limit in an episode. ``verify`` plays a procedure on at least one task of its type. ``current``
    is the procedure to renew, if there is one, and ``failed`` its failures. No library is changed. Raises LookupError
    if there is no skill; ModelError, BudgetEnded.
    """
    skill = knowledge.skills[task_type]
    same_type = [episode for episode in played if episode.task.type == task_type]
    read = procedure_reader(skill.task, environment, options)
    history: Sequence[Message] = [about_the_environment(environment, options or environment.Options())]
    prompt, code = PROMPTS["generalise"], current.code if current else ""
    values = _prompt_values(knowledge, skill, same_type, environment, code, _failure_texts(failed))
    values["actions"] = actions
    tried: list[tuple[Verification, ...]] = []
    while len(tried) < ATTEMPTS:
        try:
            answer = scope.ask(PLANNER, prompt, read=read, history=history, **values)
        except UnusableReply:
            break
        source = _source(skill, same_type, answer.reply)
        procedure = learned_procedure(answer.value, task_type, environment, source, options)
        tried.append(tuple(verify(procedure)))
        if tried[-1] and all(each.solved for each in tried[-1]):
            return Generalised(procedure=procedure, attempts=tuple(tried))
        history, prompt, values = answer.history, PROMPTS["generalise_again"], _failure_values(tried[-1])
    return Generalised(attempts=tuple(tried))


def verified(trajectory: Trajectory) -> Verification:
    """Return the result of an episode that played a procedure."""
    solved = trajectory.ending.outcome.solved
    feedback = PROMPTS["verification"].render(
        goal=trajectory.task.goal,
        observation=first_observation(trajectory),
        feedback=_feedback(trajectory) or trajectory.ending.message,
    )
    actions = sum(len(each.steps) for each in trajectory.rounds)
    return Verification(task_id=trajectory.task.id, solved=solved, actions=actions, feedback="" if solved else feedback)


def _prompt_values(
    knowledge: Knowledge,
    skill: Skill,
    same_type: Sequence[Trajectory],
    environment: type[Environment],
    procedure: str,
    failures: Sequence[Text],
) -> dict[str, Any]:
    own = [episode for episode in same_type if episode.task.id == skill.task.id]
    others = [episode for episode in same_type if episode.task.id != skill.task.id]
    feedback = shortened(_feedback(own[-1]), FEEDBACK_CHARACTERS) if own else ""
    return {
        "rules": tell_manual(knowledge),
        "skill": skill,
        "happened": feedback,
        "procedure": procedure,
        "failures": failures,
        "fence": fence_around(skill.scene, skill.code, feedback, procedure, *map(first_observation, others)),
        "params_told": bool(environment.told_params(skill.task)),
        "params": _as_json(environment.told_params(skill.task)),
        "others": [_other_task(episode, environment) for episode in others[:OTHERS_SHOWN]],
    }


def _other_task(episode: Trajectory, environment: type[Environment]) -> dict[str, str]:
    params = _as_json(environment.told_params(episode.task))
    return {
        "goal": episode.task.goal,
        "params": params,
        "scene": shortened(first_observation(episode), SCENE_CHARACTERS),
    }


def _feedback(episode: Trajectory) -> Rendered:
    """Return the feedback of all cells; recordings identify it by its steps, so that its wording may change."""
    feedbacks = [cell.feedback for played in episode.rounds for cell in played.cells]
    steps = [(step.action, step.observation) for played in episode.rounds for step in played.steps]
    return Rendered.of("\n\n".join(each.text for each in feedbacks), steps, feedbacks)


def _as_json(params: Mapping[str, JsonValue]) -> str:
    return json.dumps(dict(params), ensure_ascii=False)


def _failure_values(results: Sequence[Verification]) -> dict[str, Any]:
    failed = [each for each in results if not each.solved]
    return {"total": len(results), "solved": len(results) - len(failed), "failures": _failure_texts(failed)}


def _failure_texts(failed: Sequence[Verification]) -> list[Text]:
    return [shortened(each.feedback, FAILURE_CHARACTERS) for each in failed[:FAILURES_SHOWN]]


def _source(skill: Skill, same_type: Sequence[Trajectory], reply: Reply) -> str:
    ids = dict.fromkeys((skill.task.id, *(episode.task.id for episode in same_type)))
    by = f"{reply.model}/{PLANNER}" if reply.model else PLANNER
    return f"learnt from {', '.join(ids)} by {by}"
