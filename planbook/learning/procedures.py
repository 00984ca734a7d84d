"""Procedures of a building run: written after a success, verified on tasks, renewed after later episodes or rules."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from planbook.config import FOUND
from planbook.envs import EnvironmentBroken, EnvsError, Selection, Task
from planbook.knowledge import KnowledgeState
from planbook.learning.finding import from_plans, publish, type_named, with_found_type, with_readings
from planbook.learning.postconditions import Reading, play_and_look, read_after
from planbook.planner import (
    Ending,
    Episode,
    EpisodeSettings,
    JournalMismatch,
    Outcome,
    Procedure,
    Scope,
    Trajectory,
    code_of,
    given_code,
    play,
    read_trajectory,
)
from planbook.rules import Knowledge, Verification, admit, generalise, new_lesson_ids, rules_for, verified
from planbook.runs import Run
from planbook.workers import EpisodeWorker

LOG = logging.getLogger(__name__)
RETRIES = 2
"""Number of retries of a task if an attempt says nothing about the procedure."""
Verify = Callable[[Procedure], Sequence[Verification]]


def verification_tasks(run: Run, kind: str, knowledge: Knowledge) -> list[Task]:
    """Return further tasks of a type on which procedures are verified, besides the building tasks.

    Those of a found type are the tasks whose goals match it.
    """
    assert run.config.learning is not None
    split, _, count = run.config.learning.verify.partition(":")
    if not split:
        return []
    environment = run.config.environment
    seeds = tuple(range(int(count))) if environment.takes_seeds(split, run.config.environment_options) else ()
    if run.config.types == FOUND:
        tasks = environment.select(Selection(split=split, seeds=seeds), run.config.environment_options)
        typed = (with_found_type(knowledge, task.model_copy(update=run.config.task_overrides(task))) for task in tasks)
        return [task for task in typed if task.type == kind][: int(count)]
    selection = Selection(split=split, types=(kind,), limit=int(count), seeds=seeds)
    return environment.select(selection, run.config.environment_options)


def library_tasks(run: Run, kind: str, knowledge: Knowledge, tasks: Sequence[Task]) -> list[Task]:
    """Return the solved tasks of a found type that the library's run played, without the given ``tasks``.

    The list is empty if the environment does not have them here.
    """
    found, known = type_named(knowledge, kind), {task.id for task in tasks}
    ids = [example.task_id for example in (found.examples if found else ()) if example.task_id not in known]
    try:
        solved = run.config.environment.select(Selection(ids=tuple(ids)), run.config.environment_options) if ids else []
    except EnvsError as error:
        LOG.warning("the procedure of %s is not verified on the library's tasks: %s", kind, error)
        return []
    return [with_found_type(knowledge, task) for task in solved]


def environment_task(run: Run, task: Task) -> Task:
    """Return a task with the environment's own type and params, which may differ from the found ones."""
    if run.config.types != FOUND:
        return task
    entries = (entry.task for entry in run.entries() if entry.task.id == task.id)
    return (
        next(entries, None)
        or run.config.environment.select(Selection(ids=(task.id,)), run.config.environment_options)[0]
    )


def _verify(
    run: Run, scope: Scope, worker: EpisodeWorker, procedure: Procedure, task: Task
) -> tuple[Verification, Reading | None]:
    """Verify a procedure on a task.

    The task is played again if the environment breaks, or does not repeat the recorded part: neither says anything
    about the procedure.
    """
    message = ""
    for attempt in (scope, *(scope.child("again") for _ in range(RETRIES))):
        try:
            ending = _play(run, attempt, worker, procedure, task)
        except JournalMismatch as mismatch:
            message = str(mismatch)
            continue
        except EnvironmentBroken as broken:
            worker.drop_environment()
            message = str(broken)
            continue
        if ending.outcome is not Outcome.BROKEN:
            episode = read_trajectory(attempt.path, run.store.events(attempt.path))
            return verified(episode), read_after(episode)
        message = ending.message
    return Verification(task_id=task.id, solved=False, feedback=message), None


def _play(run: Run, scope: Scope, worker: EpisodeWorker, procedure: Procedure, task: Task) -> Ending:
    """Play a procedure on a task, or return the recorded ending."""
    recorded: Any = scope.journal.get(scope.path, "outcome", 0)
    if recorded is not None:
        return Ending.model_validate(recorded)
    settings = EpisodeSettings(actions=run.config.actions, limits=run.config.limits, seed=str(run.config.seed))
    found = run.config.types == FOUND
    episode = Episode(
        environment_task(run, task),
        worker.environment(),
        worker.sandbox,
        scope.journal,
        settings=settings,
        path=scope.path,
        guard=worker.guard,
        task_changes={"type": task.type, "params": task.params, "goal": task.goal} if found else {},
    )
    ending = play(episode, play_and_look if found else given_code, code_of(procedure))
    if ending.outcome is Outcome.BROKEN:
        worker.drop_environment()
    return ending


@dataclass(frozen=True)
class ProcedureWriter:
    """Writes the procedures of a run with its models and a sandbox; model calls and trials are recorded in a scope."""

    run: Run
    scope: Scope
    worker: EpisodeWorker
    _readings: dict[str, Reading | None] = field(default_factory=dict)
    """The values read after the last verification on each task, by task id."""

    def after_episode(self, state: KnowledgeState, played: Sequence[Trajectory]) -> tuple[KnowledgeState, str]:
        """Write a procedure after a success of a type without one, or if the type's procedure fails on the task.

        ``played`` are the episodes of the type, the latest last. Returns the state, and a description of how a
        procedure failed.
        """
        latest = played[-1]
        kind = latest.task.type
        existing = state.knowledge.procedures.get(kind)
        if kind not in state.knowledge.skills or not (existing or latest.ending.outcome.solved):
            return state, ""
        if existing is None:
            return self._write(state, played)
        failed = [result for result in self._verifier([latest.task])(existing) if not result.solved]
        return self._write(state, played, existing, failed) if failed else (self._publish(state, existing), "")

    def renew(self, state: KnowledgeState, played: Sequence[Trajectory]) -> KnowledgeState:
        """Rewrite the procedure of a type if rules that fit it, on the environment or on errors, were added since.

        The new procedure is kept if it solves all tasks of the type with no more actions than the old one.
        """
        kind = played[-1].task.type
        existing, since = state.knowledge.procedures.get(kind), state.procedures_at.get(kind, 0)
        new_rules = new_lesson_ids(state.history.entries[since:])
        if existing is None or not new_rules & _fitting_rules(state, kind):
            return state
        results = self._verifier([episode.task for episode in played])(existing)
        failed = [result for result in results if not result.solved]
        max_actions = None if failed else sum(result.actions for result in results)
        return self._write(state, played, existing, failed, max_actions)[0]

    def _write(
        self,
        state: KnowledgeState,
        played: Sequence[Trajectory],
        existing: Procedure | None = None,
        failed: Sequence[Verification] = (),
        max_actions: int | None = None,
    ) -> tuple[KnowledgeState, str]:
        config, kind = self.run.config, played[-1].task.type
        tasks = [episode.task for episode in played]
        tasks += library_tasks(self.run, kind, state.knowledge, tasks)
        verify = self._verifier([*tasks, *verification_tasks(self.run, kind, state.knowledge)])
        from_type = from_plans(state.knowledge, played, config.environment, config.environment_options)
        if from_type is not None and (existing is None or existing.code != from_type.code):
            unsolved = [result for result in verify(from_type) if not result.solved]
            if not unsolved:
                return self._publish(state, from_type, repaired=bool(failed)), ""
            existing, failed = existing or from_type, failed or unsolved
        generalised = generalise(
            self.scope,
            state.knowledge,
            kind,
            played,
            verify,
            environment=config.environment,
            options=config.environment_options,
            actions=config.actions,
            current=existing,
            failed=failed,
        )
        better = max_actions is None or generalised.actions_on(len(tasks)) <= max_actions
        procedure = generalised.procedure if better else None
        return self._publish(state, procedure, repaired=bool(failed)), generalised.elsewhere

    def _publish(self, state: KnowledgeState, procedure: Procedure | None, *, repaired: bool = False) -> KnowledgeState:
        """Return the state with a new procedure; that of a found type gets a version and a post-condition."""
        knowledge = admit(state.knowledge, procedure)
        if procedure is not None and self.run.config.types == FOUND:
            knowledge = with_readings(knowledge, procedure.type, self._readings)
            knowledge = publish(knowledge, state.knowledge, procedure.type, repaired=repaired)
        return state.model_copy(update={"knowledge": knowledge})

    def _verifier(self, tasks: Sequence[Task]) -> Verify:
        """Return a function that plays a procedure on tasks, each time in a new scope."""

        def verify(procedure: Procedure) -> list[Verification]:
            attempt = self.scope.child("verification")
            return [self._verify(attempt.child("task"), procedure, task) for task in tasks]

        return verify

    def _verify(self, scope: Scope, procedure: Procedure, task: Task) -> Verification:
        verification, self._readings[task.id] = _verify(self.run, scope, self.worker, procedure, task)
        return verification


def _fitting_rules(state: KnowledgeState, kind: str) -> set[str]:
    """Return the ids of the rules that a planner gets for tasks of a type."""
    skill = state.knowledge.skills[kind]
    return {rule.id for rule in rules_for(state.history.book, skill.task, skill)}
