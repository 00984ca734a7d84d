"""Running a procedure on tasks, to see whether it holds before it is kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from planbook.envs import Selection, Task, WorldBroken
from planbook.knowledge import State
from planbook.planner import (
    Ending,
    Episode,
    JournalMismatch,
    Outcome,
    Procedure,
    Scope,
    Terms,
    Trajectory,
    code_of,
    play,
    read_trajectory,
)
from planbook.planner.strategies.code import given_code
from planbook.rules import Verification, admit, generalise, rules_for, say_more, verified
from planbook.run import Run
from planbook.workers import Worker

REPEATS = 2
"""How often a task is tried again where the first time said nothing of the procedure."""
Verify = Callable[[Procedure], Sequence[Verification]]


def verifier(run: Run, scope: Scope, worker: Worker, tasks: Sequence[Task]) -> Verify:
    """Plays a procedure on the given tasks; each time is a scope of its own."""

    def verify(procedure: Procedure) -> list[Verification]:
        attempt = scope.child("verification")
        return [_verified(run, attempt.child("task"), worker, procedure, task) for task in tasks]

    return verify


def set_aside(run: Run, kind: str) -> list[Task]:
    """The tasks of a type that procedures are verified on beside the building tasks."""
    assert run.config.learning is not None
    split, _, count = run.config.learning.verify.partition(":")
    if not split:
        return []
    world = run.config.world
    seeds = tuple(range(int(count))) if world.takes_seeds(split) else ()
    selection = Selection(split=split, types=(kind,), limit=int(count), seeds=seeds)
    return world.select(selection, run.config.world_options)


def _verified(run: Run, scope: Scope, worker: Worker, procedure: Procedure, task: Task) -> Verification:
    """How the procedure does on a task.

    A world that broke says nothing of it, nor does a recorded part that the world does not repeat: once more then.
    """
    message = ""
    for place in (scope, *(scope.child("again") for _ in range(REPEATS))):
        try:
            ending = _ending(run, place, worker, procedure, task)
        except JournalMismatch as mismatch:
            message = str(mismatch)
            continue
        except WorldBroken as broken:
            worker.drop_environment()
            message = str(broken)
            continue
        if ending.outcome is not Outcome.BROKEN:
            return verified(read_trajectory(place.path, run.store.events(place.path)))
        message = ending.message
    return Verification(task_id=task.id, solved=False, feedback=message)


def _ending(run: Run, scope: Scope, worker: Worker, procedure: Procedure, task: Task) -> Ending:
    """How an episode ended, from the record if it has ended already."""
    recorded: Any = scope.journal.get(scope.path, "outcome", 0)
    if recorded is not None:
        return Ending.model_validate(recorded)
    terms = Terms(actions=run.config.actions, limits=run.config.limits, seed=str(run.config.seed))
    episode = Episode(
        task, worker.environment(), worker.sandbox, scope.journal, terms=terms, path=scope.path, guard=worker.guard
    )
    ending = play(episode, given_code, code_of(procedure))
    if ending.outcome is Outcome.BROKEN:
        worker.drop_environment()
    return ending


@dataclass(frozen=True)
class ProcedureWriter:
    """Writes the procedures of a run, with its models and a sandbox; what it asks and tries is recorded in a scope."""

    run: Run
    scope: Scope
    worker: Worker

    def after_episode(self, state: State, played: Sequence[Trajectory]) -> tuple[State, str]:
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
        return self._written(state, played, there, failed) if failed else (state, "")

    def renewed(self, state: State, played: Sequence[Trajectory]) -> State:
        """Write the procedure of a type anew if rules on the world or on errors were written since that fit the type.

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
        state: State,
        played: Sequence[Trajectory],
        there: Procedure | None = None,
        failed: Sequence[Verification] = (),
        most_actions: int | None = None,
    ) -> tuple[State, str]:
        config, kind = self.run.config, played[-1].task.type
        tasks = [each.task for each in played]
        generalised = generalise(
            self.scope,
            state.knowledge,
            kind,
            played,
            self._verifier([*tasks, *set_aside(self.run, kind)]),
            world=config.world,
            options=config.world_options,
            actions=config.actions,
            there=there,
            failed=failed,
        )
        better = most_actions is None or generalised.actions_on(len(tasks)) <= most_actions
        knowledge = admit(state.knowledge, generalised.procedure if better else None)
        return state.model_copy(update={"knowledge": knowledge}), generalised.elsewhere

    def _verifier(self, tasks: Sequence[Task]) -> Verify:
        return verifier(self.run, self.scope, self.worker, tasks)


def _fitting(state: State, kind: str) -> set[str]:
    """Return the ids of the rules that a planner would be told for tasks of a type."""
    skill = state.knowledge.skills[kind]
    return {rule.id for rule in rules_for(state.history.book, skill.task, skill)}
