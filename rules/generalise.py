"""Beyond the paper: a success's code becomes a procedure for its type of task, once it has shown that it holds."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from envs import Environment, Task
from planner import Procedure, Scope, Trajectory, UnusableReply, about_the_world
from planner.models import Message, Reply
from rules.telling import PROMPTS, fence_around, shortened, tell_manual
from rules.types import Knowledge, Learnt, Skill
from rules.written import learnt_procedure, params_told, procedure_reader

PLANNER = "planner"
ATTEMPTS = 3
"""Replies in all, the first one included."""
TASKS_TOLD, FAILURES_TOLD = 8, 2
FAILURE_CHARACTERS = 4_000
"""Of each failure; its end says more than its beginning."""


class Verification(Learnt):
    """How a procedure did on one task; ``feedback`` is what a model needs to see to mend it."""

    task_id: str
    solved: bool
    feedback: str = ""


Verify = Callable[[Procedure], Sequence[Verification]]


class Attempt(Learnt):
    """One procedure that was written, and how it did."""

    procedure: Procedure
    verifications: tuple[Verification, ...]

    @property
    def holds(self) -> bool:
        """Whether it did every task that it was tried on, and at least one."""
        return bool(self.verifications) and all(each.solved for each in self.verifications)


class Generalised(Learnt):
    """What came of generalising a skill: ``procedure`` is None where none held, ``problem`` says why there was no more.

    ``verified_on`` are the ids of the tasks that the procedure did.
    """

    procedure: Procedure | None = None
    attempts: tuple[Attempt, ...] = ()
    verified_on: tuple[str, ...] = ()
    problem: str = ""


def generalise(
    scope: Scope,
    knowledge: Knowledge,
    task_type: str,
    tasks: Sequence[Task],
    verify: Verify,
    *,
    world: type[Environment],
    options: BaseModel | None = None,
    attempts: int = ATTEMPTS,
) -> Generalised:
    """Ask for a procedure, verify it, and ask again with what failed, until one holds or the replies are used up.

    ``knowledge`` has a skill of the type; ``tasks`` are those built on so far, begun: with goal and params.
    ``verify`` plays a procedure on tasks of its type, at least one, and says of each how it went. No library is touched
    here. Raises LookupError where there is no skill, ModelError, BudgetEnded.
    """
    skill = knowledge.skills[task_type]
    alike = [task for task in tasks if task.type == task_type] or [skill.task]
    read = procedure_reader(skill.task, world, options)
    history: Sequence[Message] = [about_the_world(world, options or world.Options())]
    prompt, told = PROMPTS["generalise"], _question(knowledge, skill, alike, world)
    tried: list[Attempt] = []
    while len(tried) < attempts:
        try:
            answer = scope.ask(PLANNER, prompt, read=read, history=history, **told)
        except UnusableReply as unusable:
            return Generalised(attempts=tuple(tried), problem=str(unusable))
        procedure = learnt_procedure(answer.value, task_type, world, _source(alike, answer.reply), options)
        tried.append(Attempt(procedure=procedure, verifications=tuple(verify(procedure))))
        if tried[-1].holds:
            return _admitted(tried)
        history, prompt, told = answer.history, PROMPTS["generalise_again"], _what_failed(tried[-1])
    return Generalised(attempts=tuple(tried), problem=f"none of {attempts} procedures held on every task")


def verified(trajectory: Trajectory) -> Verification:
    """What an episode that played a procedure says of it."""
    rounds, solved = trajectory.rounds, trajectory.ending.outcome.solved
    feedbacks = [cell.feedback.text for played in rounds for cell in played.cells]
    told = PROMPTS["verification"].render(
        goal=trajectory.task.goal,
        observation=rounds[0].observation if rounds else "",
        feedback="\n\n".join(feedbacks) or trajectory.ending.message,
    )
    return Verification(task_id=trajectory.task.id, solved=solved, feedback="" if solved else told)


def _question(knowledge: Knowledge, skill: Skill, alike: Sequence[Task], world: type[Environment]) -> dict[str, Any]:
    return {
        "rules": tell_manual(knowledge),
        "skill": skill,
        "fence": fence_around(skill.scene, skill.code),
        "params_told": params_told(skill.task, world),
        "tasks": [(task.goal, json.dumps(world.told_params(task), ensure_ascii=False)) for task in alike[:TASKS_TOLD]],
    }


def _what_failed(attempt: Attempt) -> dict[str, Any]:
    if not attempt.verifications:
        raise ValueError(f"{attempt.procedure.name} was verified on no task; verify it on one at least")
    failed = [each.feedback for each in attempt.verifications if not each.solved]
    return {
        "total": len(attempt.verifications),
        "solved": len(attempt.verifications) - len(failed),
        "failures": [shortened(feedback, FAILURE_CHARACTERS) for feedback in failed[:FAILURES_TOLD]],
    }


def _admitted(tried: Sequence[Attempt]) -> Generalised:
    held = tried[-1]
    return Generalised(
        procedure=held.procedure,
        attempts=tuple(tried),
        verified_on=tuple(each.task_id for each in held.verifications),
    )


def _source(tasks: Sequence[Task], reply: Reply) -> str:
    by = f"{reply.model}/{PLANNER}" if reply.model else PLANNER
    return f"learnt from {', '.join(task.id for task in tasks)} by {by}"
