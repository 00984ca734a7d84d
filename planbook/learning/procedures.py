"""Procedures of a building run: written after a success, verified on tasks, and renewed by later episodes or rules."""

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
from planbook.rules import Knowledge, Verification, admit, generalise, rules_for, say_more, verified
from planbook.runs import Run
from planbook.workers import EpisodeWorker

LOG = logging.getLogger(__name__)
REPEATS = 2
"""Number of retries of a task when an attempt says nothing about the procedure."""
Verify = Callable[[Procedure], Sequence[Verification]]


def set_aside(run: Run, kind: str, knowledge: Knowledge) -> list[Task]:
    """Return further tasks of a type on which procedures are verified, beside the building tasks.

    Of a found type, those whose goals are matched with it.
    """
    assert run.config.learning is not None
    split, _, count = run.config.learning.verify.partition(":")
    if not split:
        return []
    world = run.config.world
    seeds = tuple(range(int(count))) if world.takes_seeds(split, run.config.world_options) else ()
    if run.config.types == FOUND:
        every = world.select(Selection(split=split, seeds=seeds), run.config.world_options)
        told = (with_found_type(knowledge, task.model_copy(update=run.config.told(task))) for task in every)
        return [task for task in told if task.type == kind][: int(count)]
    selection = Selection(split=split, types=(kind,), limit=int(count), seeds=seeds)
    return world.select(selection, run.config.world_options)


def stored(run: Run, kind: str, knowledge: Knowledge, tasks: Sequence[Task]) -> list[Task]:
    """Return the solved tasks of a found type that are not among these: those that the library's run played.

    Those that are not to be had here are left out.
    """
    found, known = type_named(knowledge, kind), {task.id for task in tasks}
    ids = [example.task_id for example in (found.examples if found else ()) if example.task_id not in known]
    try:
        there = run.config.world.select(Selection(ids=tuple(ids)), run.config.world_options) if ids else []
    except EnvsError as error:
        LOG.warning("the procedure of %s is not verified on the library's tasks: %s", kind, error)
        return []
    return [with_found_type(knowledge, task) for task in there]


def own_task(run: Run, task: Task) -> Task:
    """Return a task as the environment has it, which may have other labels."""
    if run.config.types != FOUND:
        return task
    entries = (entry.task for entry in run.entries() if entry.task.id == task.id)
    return next(entries, None) or run.config.world.select(Selection(ids=(task.id,)), run.config.world_options)[0]


def _verified(
    run: Run, scope: Scope, worker: EpisodeWorker, procedure: Procedure, task: Task
) -> tuple[Verification, Reading | None]:
    """Verify a procedure on a task.

    A world that broke says nothing of it, nor does a recorded part that the world does not repeat: once more then.
    """
    message = ""
    for place in (scope, *(scope.child("again") for _ in range(REPEATS))):
        try:
            ending = _ending(run, place, worker, procedure, task)
        except JournalMismatch as mismatch:
            message = str(mismatch)
            continue
        except EnvironmentBroken as broken:
            worker.drop_environment()
            message = str(broken)
            continue
        if ending.outcome is not Outcome.BROKEN:
            episode = read_trajectory(place.path, run.store.events(place.path))
            return verified(episode), read_after(episode)
        message = ending.message
    return Verification(task_id=task.id, solved=False, feedback=message), None


def _ending(run: Run, scope: Scope, worker: EpisodeWorker, procedure: Procedure, task: Task) -> Ending:
    """Return the ending of an episode, from the record if it has one."""
    recorded: Any = scope.journal.get(scope.path, "outcome", 0)
    if recorded is not None:
        return Ending.model_validate(recorded)
    settings = EpisodeSettings(actions=run.config.actions, limits=run.config.limits, seed=str(run.config.seed))
    found = run.config.types == FOUND
    episode = Episode(
        own_task(run, task),
        worker.environment(),
        worker.sandbox,
        scope.journal,
        settings=settings,
        path=scope.path,
        guard=worker.guard,
        told={"type": task.type, "params": task.params, "goal": task.goal} if found else {},
    )
    ending = play(episode, play_and_look if found else given_code, code_of(procedure))
    if ending.outcome is Outcome.BROKEN:
        worker.drop_environment()
    return ending


@dataclass(frozen=True)
class ProcedureWriter:
    """Writes the procedures of a run with its models and a sandbox, and records in a scope what it asks and tries."""

    run: Run
    scope: Scope
    worker: EpisodeWorker
    _readings: dict[str, Reading | None] = field(default_factory=dict)
    """What could be read after the last verification on each task, by its id."""

    def after_episode(self, state: KnowledgeState, played: Sequence[Trajectory]) -> tuple[KnowledgeState, str]:
        """Write a procedure after a success of a type without one, or where the type's procedure fails on the task.

        ``played`` are the episodes of the type, the latest last. Returns the state, and how a procedure failed on the
        way.
        """
        latest = played[-1]
        kind = latest.task.type
        there = state.knowledge.procedures.get(kind)
        if kind not in state.knowledge.skills or not (there or latest.ending.outcome.solved):
            return state, ""
        if there is None:
            return self._written(state, played)
        failed = [each for each in self._verifier([latest.task])(there) if not each.solved]
        return self._written(state, played, there, failed) if failed else (self._published(state, there), "")

    def renewed(self, state: KnowledgeState, played: Sequence[Trajectory]) -> KnowledgeState:
        """Rewrite the procedure of a type if fitting rules on the environment or on errors were added since.

        The new one is kept where it does all tasks of the type, in no more actions than the old one.
        """
        kind = played[-1].task.type
        there, since = state.knowledge.procedures.get(kind), state.procedures_at.get(kind, 0)
        more = say_more(state.history.entries[since:])
        if there is None or not more & _fitting(state, kind):
            return state
        did = self._verifier([each.task for each in played])(there)
        failed = [each for each in did if not each.solved]
        most = None if failed else sum(each.actions for each in did)
        return self._written(state, played, there, failed, most)[0]

    def _written(
        self,
        state: KnowledgeState,
        played: Sequence[Trajectory],
        there: Procedure | None = None,
        failed: Sequence[Verification] = (),
        most_actions: int | None = None,
    ) -> tuple[KnowledgeState, str]:
        config, kind = self.run.config, played[-1].task.type
        tasks = [each.task for each in played]
        tasks += stored(self.run, kind, state.knowledge, tasks)
        verify = self._verifier([*tasks, *set_aside(self.run, kind, state.knowledge)])
        ready = from_plans(state.knowledge, played, config.world, config.world_options)
        if ready is not None and (there is None or there.code != ready.code):
            missed = [each for each in verify(ready) if not each.solved]
            if not missed:
                return self._published(state, ready, repaired=bool(failed)), ""
            there, failed = there or ready, failed or missed
        generalised = generalise(
            self.scope,
            state.knowledge,
            kind,
            played,
            verify,
            world=config.world,
            options=config.world_options,
            actions=config.actions,
            there=there,
            failed=failed,
        )
        better = most_actions is None or generalised.actions_on(len(tasks)) <= most_actions
        procedure = generalised.procedure if better else None
        return self._published(state, procedure, repaired=bool(failed)), generalised.elsewhere

    def _published(
        self, state: KnowledgeState, procedure: Procedure | None, *, repaired: bool = False
    ) -> KnowledgeState:
        """Return the state with a procedure that holds; of a found type, with its version and post-condition."""
        knowledge = admit(state.knowledge, procedure)
        if procedure is not None and self.run.config.types == FOUND:
            knowledge = with_readings(knowledge, procedure.type, self._readings)
            knowledge = publish(knowledge, state.knowledge, procedure.type, repaired=repaired)
        return state.model_copy(update={"knowledge": knowledge})

    def _verifier(self, tasks: Sequence[Task]) -> Verify:
        """Return a function that plays a procedure on tasks, each time in a new scope."""

        def verify(procedure: Procedure) -> list[Verification]:
            attempt = self.scope.child("verification")
            return [self._verified(attempt.child("task"), procedure, task) for task in tasks]

        return verify

    def _verified(self, scope: Scope, procedure: Procedure, task: Task) -> Verification:
        verification, self._readings[task.id] = _verified(self.run, scope, self.worker, procedure, task)
        return verification


def _fitting(state: KnowledgeState, kind: str) -> set[str]:
    """Return the ids of the rules that a planner would get for tasks of a type."""
    skill = state.knowledge.skills[kind]
    return {rule.id for rule in rules_for(state.history.book, skill.task, skill)}
