"""Write the procedures of a run of `planbook build`.

The procedure for a task type is written after the first task of the type is solved. It is kept only if it also solves
other tasks of the type. It is rewritten if it fails on a later task, or if it may benefit from rules learned later.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from planbook.config import FOUND
from planbook.envs import EnvironmentBroken, EnvsError, Selection, Task
from planbook.knowledge import KnowledgeState
from planbook.learning.finding import (
    Reading,
    final_reading,
    found_type_named,
    generalise_plans,
    play_and_read,
    with_found_type,
    with_updated_type,
)
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
from planbook.rules import (
    Knowledge,
    Verification,
    generalise,
    new_lesson_ids,
    params_read,
    rules_for,
    verification_of,
    with_procedure,
)
from planbook.runs import Run
from planbook.workers import EpisodeWorker

LOG = logging.getLogger(__name__)
RETRIES = 2
"""Maximum number of times that a task is played again because the environment failed, not the procedure."""
Verify = Callable[[Procedure], Sequence[Verification]]
"""A function that tries a procedure on some tasks."""


@dataclass(frozen=True)
class ProcedureWriter:
    """Writes procedures with the models and the sandbox of a run.

    The model calls, and the episodes in which procedures are tried, are recorded in ``scope``.
    """

    run: Run
    scope: Scope
    worker: EpisodeWorker
    _readings: dict[str, Reading | None] = field(default_factory=dict)
    """Maps the id of each task to the values that were read after the last verification on it."""

    def after_episode(self, state: KnowledgeState, episodes: Sequence[Trajectory]) -> tuple[KnowledgeState, str]:
        """Write a procedure for the type of the last episode, unless its existing procedure solves the episode's task.

        The first procedure is written only if the last episode was solved. A type without a skill gets no procedure.
        ``episodes`` lists all episodes of the type, in order. Return the new state, and a description of how a new
        procedure failed on another task, or "" if none failed.
        """
        latest = episodes[-1]
        task_type = latest.task.type
        existing = state.knowledge.procedures.get(task_type)
        if task_type not in state.knowledge.skills or not (existing or latest.ending.outcome.solved):
            return state, ""
        if existing is None:
            return self._write(state, episodes)
        failures = [result for result in self._verifier([latest.task])(existing) if not result.solved]
        return self._write(state, episodes, existing, failures) if failures else (self._updated(state, existing), "")

    def renew(self, state: KnowledgeState, episodes: Sequence[Trajectory]) -> KnowledgeState:
        """Rewrite a type's procedure if, since it was written, a rule that fits the type was added or reworded.

        Only rules about the environment or about errors count. The new procedure is kept if it solves all tasks on
        which it is verified. If the old procedure solves the tasks of ``episodes``, the new one must also solve them
        with at most as many actions as the old one.
        """
        task_type = episodes[-1].task.type
        existing, written_at = state.knowledge.procedures.get(task_type), state.procedures_at.get(task_type, 0)
        new_rules = new_lesson_ids(state.history, written_at)
        if existing is None or not new_rules & _fitting_rules(state, task_type):
            return state
        results = self._verifier([episode.task for episode in episodes])(existing)
        failures = [result for result in results if not result.solved]
        max_actions = None if failures else sum(result.actions for result in results)
        return self._write(state, episodes, existing, failures, max_actions)[0]

    def _write(
        self,
        state: KnowledgeState,
        episodes: Sequence[Trajectory],
        existing: Procedure | None = None,
        failures: Sequence[Verification] = (),
        max_actions: int | None = None,
    ) -> tuple[KnowledgeState, str]:
        config, task_type, latest = self.run.config, episodes[-1].task.type, episodes[-1].task
        # if the existing procedure reads a parameter that the type has lost, replacing it does not count as a repair
        repaired = existing is not None and bool(failures) and set(params_read(existing.code)) <= latest.params.keys()
        tasks = [episode.task for episode in episodes]
        tasks += self._library_tasks(task_type, state.knowledge, tasks)
        verify = self._verifier([*tasks, *self._verification_tasks(task_type, state.knowledge)])

        def is_within_max_actions(results: Sequence[Verification]) -> bool:
            return max_actions is None or sum(result.actions for result in results[: len(episodes)]) <= max_actions

        plan_procedure = generalise_plans(state.knowledge, episodes, config.environment, config.environment_options)
        if plan_procedure is not None and (existing is None or existing.code != plan_procedure.code):
            results = verify(plan_procedure)
            unsolved = [result for result in results if not result.solved]
            if not unsolved and is_within_max_actions(results):
                return self._updated(state, plan_procedure, repaired=repaired), ""
            existing, failures = existing or plan_procedure, failures or unsolved
        generalised = generalise(
            self.scope,
            state.knowledge,
            task_type,
            episodes,
            verify,
            environment=config.environment,
            options=config.environment_options,
            actions=config.actions,
            current=existing,
            failed=failures,
        )
        procedure = generalised.procedure
        if procedure is not None and not is_within_max_actions(generalised.attempts[-1]):
            procedure = None
        return self._updated(state, procedure, repaired=repaired), generalised.other_failure

    def _updated(self, state: KnowledgeState, procedure: Procedure | None, *, repaired: bool = False) -> KnowledgeState:
        """Return the state with a new procedure, or an unchanged state if ``procedure`` is None.

        If planbook found the type by itself (a found type), its version number and its post-condition (code that
        checks the effect of the procedure) are also updated.
        """
        knowledge = with_procedure(state.knowledge, procedure)
        if procedure is not None and self._finds_types:
            knowledge = with_updated_type(knowledge, state.knowledge, procedure.type, self._readings, repaired=repaired)
        return state.model_copy(update={"knowledge": knowledge})

    def _verifier(self, tasks: Sequence[Task]) -> Verify:
        """Return a function that tries a procedure on each of these tasks. Each call records its trials separately."""

        def verify(procedure: Procedure) -> list[Verification]:
            attempt = self.scope.child("verification")
            return [self._verify(attempt.child("task"), procedure, task) for task in tasks]

        return verify

    def _verify(self, scope: Scope, procedure: Procedure, task: Task) -> Verification:
        """Verify a procedure on a task.

        If the environment breaks, or behaves differently from the recorded part of the trial, the procedure is not at
        fault. The task is then played again, at most ``RETRIES`` times.
        """
        message = ""
        for attempt in (scope, *(scope.child("again") for _ in range(RETRIES))):
            try:
                ending = self._play(attempt, procedure, task)
            except (JournalMismatch, EnvironmentBroken) as error:
                self.worker.drop_environment()
                message = str(error)
                continue
            if ending.outcome is not Outcome.BROKEN:
                episode = read_trajectory(attempt.path, self.run.store.events(attempt.path))
                self._readings[task.id] = final_reading(episode)
                return verification_of(episode)
            self.worker.drop_environment()
            message = ending.message
        self._readings[task.id] = None
        return Verification(task_id=task.id, solved=False, feedback=message)

    def _play(self, scope: Scope, procedure: Procedure, task: Task) -> Ending:
        """Play a procedure on a task, or return the ending that is already recorded."""
        recorded: Any = scope.journal.get(scope.path, "outcome", 0)
        if recorded is not None:
            return Ending.model_validate(recorded)
        config = self.run.config
        episode = Episode(
            self._environment_task(task),
            self.worker.environment(),
            self.worker.sandbox,
            scope.journal,
            settings=EpisodeSettings(actions=config.actions, limits=config.limits, seed=str(config.seed)),
            path=scope.path,
            guard=self.worker.guard,
            task_changes=task.model_dump(include={"type", "params", "goal"}) if self._finds_types else {},
        )
        return play(episode, play_and_read if self._finds_types else given_code, code_of(procedure))

    @property
    def _finds_types(self) -> bool:
        return self.run.config.types == FOUND

    def _select(self, selection: Selection) -> list[Task]:
        return self.run.config.environment.select(selection, self.run.config.environment_options)

    def _environment_task(self, task: Task) -> Task:
        """Return a task as the environment defines it, without the type and params that planbook found."""
        if not self._finds_types:
            return task
        listed_tasks = (entry.task for entry in self.run.entries() if entry.task.id == task.id)
        return next(listed_tasks, None) or self._select(Selection(ids=(task.id,)))[0]

    def _verification_tasks(self, task_type: str, knowledge: Knowledge) -> list[Task]:
        """Return the additional tasks of a type on which procedures are verified (``--verify SPLIT:N``).

        For a found type, these are tasks of the split whose goals match the type.
        """
        config = self.run.config
        split, _, count = config.building.verify.partition(":")
        if not split:
            return []
        seeded = config.environment.takes_seeds(split, config.environment_options)
        seeds = tuple(range(int(count))) if seeded else ()
        if not self._finds_types:
            return self._select(Selection(split=split, types=(task_type,), limit=int(count), seeds=seeds))
        tasks = (with_found_type(config, knowledge, task) for task in self._select(Selection(split=split, seeds=seeds)))
        return [task for task in tasks if task.type == task_type][: int(count)]

    def _library_tasks(self, task_type: str, knowledge: Knowledge, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks of a found type's examples, except those in ``tasks``.

        These are tasks from the run's library. Return an empty list if the environment lacks any of them.
        """
        found_type, excluded = found_type_named(knowledge, task_type), {task.id for task in tasks}
        examples = found_type.examples if found_type else ()
        ids = tuple(example.task_id for example in examples if example.task_id not in excluded)
        try:
            example_tasks = self._select(Selection(ids=ids)) if ids else []
        except EnvsError as error:
            LOG.warning("the procedure for %s is not verified on the library's tasks: %s", task_type, error)
            return []
        return [with_found_type(self.run.config, knowledge, task) for task in example_tasks]


def _fitting_rules(state: KnowledgeState, task_type: str) -> set[str]:
    """Return the ids of the rules that a planner gets for the task from which the type's skill was learned."""
    skill = state.knowledge.skills[task_type]
    return {rule.id for rule in rules_for(state.history.book, skill.task, skill)}
