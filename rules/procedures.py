"""Beyond the paper: turns the code of a success into a procedure for its task type, after verification.

A model's reply is checked and gets the header that we write."""

import ast
import json
from collections.abc import Callable, Mapping, Sequence
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
from planbook.rules.telling import PROMPTS, shortened, tell_manual
from planbook.rules.types import Knowledge, Learned, Skill
from planbook.sandbox import parse_source, read_reply

LONGEST = 20_000
"""Maximum characters of a procedure."""


def procedure_reader(task: Task, world: type[Environment], options: BaseModel | None = None) -> Callable[[str], str]:
    """Reads the code of a procedure for tasks like this one; raises ValueError with every fault, for the model."""
    barred = {"id": "a procedure must not depend on which task it is: leave task.id out"}
    if not params_told(task, world):
        barred["params"] = "task.params must not be used for tasks of this type: read task.goal"

    def read(text: str) -> str:
        reply = read_reply(text)
        if reply.problem is not None:
            raise ValueError(str(reply.problem))
        if len(reply.code) > LONGEST:
            raise ValueError(f"the procedure has {len(reply.code)} characters; at most {LONGEST} are allowed")
        faults = [str(fault) for fault in procedure_faults(reply.code, world, options)] or _barred(reply.code, barred)
        if faults:
            raise ValueError("the procedure does not pass the check:\n" + "\n".join(faults))
        return _fit_for_header(reply.code, task, world, options)

    return read


def params_told(task: Task, world: type[Environment]) -> bool:
    """Return whether a task has params that prompts may show."""
    return bool(world.told_params(task))


def learned_procedure(
    code: str, task_type: str, world: type[Environment], source: str, options: BaseModel | None = None
) -> Procedure:
    """Return the procedure: the code under our header. Raises BadProcedure if it does not pass the check."""
    header = (
        f'"""Do a task of type {task_type}.\n\nworld: {world.name}\ntype: {task_type}\nsource: {_plain(source)}\n"""'
    )
    name = f"{task_type.replace('-', '_')}.py"
    return checked_procedure(parse_procedure(f"{header}\n\n\n{code.strip()}\n", name), world, options)


def params_read(code: str) -> set[str]:
    """Return the names of the params that a procedure reads as ``task.params["NAME"]``."""
    return {
        node.slice.value
        for node in ast.walk(parse_source(code))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == f"{TASK}.params"
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    }


def _barred(code: str, barred: dict[str, str]) -> list[str]:
    """Return what the code reads of ``task`` although it must not."""
    read = {
        node.attr: node.lineno
        for node in ast.walk(parse_source(code))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == TASK
    }
    return [f"line {read[name]}: {why}" for name, why in barred.items() if name in read]


def _fit_for_header(code: str, task: Task, world: type[Environment], options: BaseModel | None) -> str:
    """Return the code without the model's own text at the top, where the header goes.

    Raises ValueError if no header fits.
    """
    tree = parse_source(code)
    if ast.get_docstring(tree) is not None and tree.body[0].end_lineno != tree.body[1].lineno:
        code = "\n".join(code.split("\n")[tree.body[0].end_lineno :])
    try:
        learned_procedure(code, task.type, world, "still to be said", options)
    except BadProcedure as bad:
        raise ValueError(str(bad)) from bad
    return code


def _plain(text: str) -> str:
    """Return one line that ends no docstring and escapes nothing."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())


PLANNER = "planner"
ATTEMPTS = 3
"""Total number of replies, the first included."""
OTHERS_TOLD, FAILURES_TOLD = 5, 2
"""Number of other tasks shown, and of tasks on which a procedure failed."""
HAPPENED_CHARACTERS, SCENE_CHARACTERS, FAILURE_CHARACTERS = 8_000, 1_000, 4_000
"""Characters of the skill's observations, of each other scene, and of each failure."""


class Verification(Learned):
    """The result of a procedure on one task, and its actions; ``feedback`` is what a model needs to fix it."""

    task_id: str
    solved: bool
    actions: int = 0
    feedback: Text = ""


Verify = Callable[[Procedure], Sequence[Verification]]


class Attempt(Learned):
    """A procedure that was written, and its results."""

    procedure: Procedure
    verifications: tuple[Verification, ...]

    @property
    def failures(self) -> tuple[str, ...]:
        """The feedback on the tasks that it did not solve."""
        return tuple(each.feedback for each in self.verifications if not each.solved)

    @property
    def holds(self) -> bool:
        """Return whether it solved every task that it was tried on, and at least one."""
        return bool(self.verifications) and all(each.solved for each in self.verifications)


class Generalised(Learned):
    """The result of generalising a skill: ``procedure`` is None if none held, ``problem`` says why no more were tried.

    ``verified_on`` lists the ids of the tasks that the procedure solved.
    """

    procedure: Procedure | None = None
    attempts: tuple[Attempt, ...] = ()
    verified_on: tuple[str, ...] = ()
    problem: str = ""

    @property
    def elsewhere(self) -> str:
        """What the first failing procedure met in another scene, which says something about the environment."""
        failures = [failure for attempt in self.attempts for failure in attempt.failures]
        return shortened(failures[0], FAILURE_CHARACTERS) if failures else ""

    def actions_on(self, tasks: int) -> int:
        """Return the actions that the last procedure took on the first so many tasks."""
        return sum(each.actions for attempt in self.attempts[-1:] for each in attempt.verifications[:tasks])


def generalise(
    scope: Scope,
    knowledge: Knowledge,
    task_type: str,
    played: Sequence[Trajectory],
    verify: Verify,
    *,
    world: type[Environment],
    options: BaseModel | None = None,
    actions: int,
    attempts: int = ATTEMPTS,
    there: Procedure | None = None,
    failed: Sequence[Verification] = (),
) -> Generalised:
    """Ask for a procedure, verify it, and ask again with what failed, until one holds or the replies are used up.

    ``knowledge`` has a skill of the type, ``actions`` is how many an episode allows; ``played`` are the building
    episodes so far, the skill's own among them. ``verify`` plays a procedure on tasks of its type, at least one, and
    says of each how it went. ``there`` is the type's procedure that is to be renewed, and ``failed`` where it did not
    hold. No library is touched here. Raises LookupError where there is no skill, ModelError,
    BudgetEnded.
    """
    skill = knowledge.skills[task_type]
    alike = [episode for episode in played if episode.task.type == task_type]
    read = procedure_reader(skill.task, world, options)
    history: Sequence[Message] = [about_the_environment(world, options or world.Options())]
    prompt = PROMPTS["generalise"]
    told = _question(knowledge, skill, alike, world, there.code if there else "", _shown(failed))
    told["actions"] = actions
    tried: list[Attempt] = []
    while len(tried) < attempts:
        try:
            answer = scope.ask(PLANNER, prompt, read=read, history=history, **told)
        except UnusableReply as unusable:
            return Generalised(attempts=tuple(tried), problem=str(unusable))
        procedure = learned_procedure(answer.value, task_type, world, _source(skill, alike, answer.reply), options)
        tried.append(Attempt(procedure=procedure, verifications=tuple(verify(procedure))))
        if tried[-1].holds:
            return _admitted(tried)
        history, prompt, told = answer.history, PROMPTS["generalise_again"], _what_failed(tried[-1])
    return Generalised(attempts=tuple(tried), problem=f"none of {attempts} procedures held on every task")


def verified(trajectory: Trajectory) -> Verification:
    """Return the verification from an episode that played a procedure."""
    solved = trajectory.ending.outcome.solved
    told = PROMPTS["verification"].render(
        goal=trajectory.task.goal,
        observation=_scene(trajectory),
        feedback=_feedback(trajectory) or trajectory.ending.message,
    )
    actions = sum(len(each.steps) for each in trajectory.rounds)
    return Verification(task_id=trajectory.task.id, solved=solved, actions=actions, feedback="" if solved else told)


def _question(
    knowledge: Knowledge,
    skill: Skill,
    alike: Sequence[Trajectory],
    world: type[Environment],
    procedure: str,
    failures: Sequence[Text],
) -> dict[str, Any]:
    own = [episode for episode in alike if episode.task.id == skill.task.id]
    others = [episode for episode in alike if episode.task.id != skill.task.id]
    happened = shortened(_feedback(own[-1]), HAPPENED_CHARACTERS) if own else ""
    return {
        "rules": tell_manual(knowledge),
        "skill": skill,
        "happened": happened,
        "procedure": procedure,
        "failures": failures,
        "fence": fence_around(skill.scene, skill.code, happened, procedure, *map(_scene, others)),
        "params_told": params_told(skill.task, world),
        "params": _as_json(world.told_params(skill.task)),
        "others": [_other(episode, world) for episode in others[:OTHERS_TOLD]],
    }


def _other(episode: Trajectory, world: type[Environment]) -> dict[str, str]:
    params = _as_json(world.told_params(episode.task))
    return {"goal": episode.task.goal, "params": params, "scene": shortened(_scene(episode), SCENE_CHARACTERS)}


def _scene(episode: Trajectory) -> str:
    return episode.rounds[0].observation if episode.rounds else ""


def _feedback(episode: Trajectory) -> Rendered:
    """Return the feedback of every cell, made from the steps, however it is worded."""
    feedbacks = [cell.feedback for played in episode.rounds for cell in played.cells]
    steps = [(step.action, step.observation) for played in episode.rounds for step in played.steps]
    return Rendered.of("\n\n".join(each.text for each in feedbacks), steps, feedbacks)


def _as_json(params: Mapping[str, JsonValue]) -> str:
    return json.dumps(dict(params), ensure_ascii=False)


def _what_failed(attempt: Attempt) -> dict[str, Any]:
    if not attempt.verifications:
        raise ValueError(f"{attempt.procedure.name} was verified on no task; verify it on one at least")
    failed = attempt.failures
    return {
        "total": len(attempt.verifications),
        "solved": len(attempt.verifications) - len(failed),
        "failures": _shown([each for each in attempt.verifications if not each.solved]),
    }


def _shown(failed: Sequence[Verification]) -> list[Text]:
    return [shortened(each.feedback, FAILURE_CHARACTERS) for each in failed[:FAILURES_TOLD]]


def _admitted(tried: Sequence[Attempt]) -> Generalised:
    held = tried[-1]
    return Generalised(
        procedure=held.procedure,
        attempts=tuple(tried),
        verified_on=tuple(each.task_id for each in held.verifications),
    )


def _source(skill: Skill, alike: Sequence[Trajectory], reply: Reply) -> str:
    ids = dict.fromkeys((skill.task.id, *(episode.task.id for episode in alike)))
    by = f"{reply.model}/{PLANNER}" if reply.model else PLANNER
    return f"learnt from {', '.join(ids)} by {by}"
