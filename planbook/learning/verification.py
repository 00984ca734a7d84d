"""Running a procedure on tasks, to see whether it holds before it is kept."""

from collections.abc import Callable, Sequence
from typing import Any

from planbook.envs import EnvironmentBroken, Selection, Task
from planbook.episodes.lanes import Lane
from planbook.planner import (
    Ending,
    Episode,
    EpisodeSettings,
    JournalMismatch,
    Outcome,
    Procedure,
    Scope,
    code_of,
    play,
    read_trajectory,
)
from planbook.planner.strategies.code import given_code
from planbook.rules import Verification, verified
from planbook.run import Run

REPEATS = 2
"""How often a task is tried again where the first time said nothing of the procedure."""
Verify = Callable[[Procedure], Sequence[Verification]]


def verifier(run: Run, scope: Scope, lane: Lane, tasks: Sequence[Task]) -> Verify:
    """Plays a procedure on the given tasks; each time is a scope of its own."""

    def verify(procedure: Procedure) -> list[Verification]:
        attempt = scope.child("verification")
        return [_verified(run, attempt.child("task"), lane, procedure, task) for task in tasks]

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


def _verified(run: Run, scope: Scope, lane: Lane, procedure: Procedure, task: Task) -> Verification:
    """How the procedure does on a task.

    A world that broke says nothing of it, nor does a recorded part that the world does not repeat: once more then.
    """
    message = ""
    for place in (scope, *(scope.child("again") for _ in range(REPEATS))):
        try:
            ending = _ending(run, place, lane, procedure, task)
        except JournalMismatch as mismatch:
            message = str(mismatch)
            continue
        except EnvironmentBroken as broken:
            lane.drop_world()
            message = str(broken)
            continue
        if ending.outcome is not Outcome.BROKEN:
            return verified(read_trajectory(place.path, run.store.events(place.path)))
        message = ending.message
    return Verification(task_id=task.id, solved=False, feedback=message)


def _ending(run: Run, scope: Scope, lane: Lane, procedure: Procedure, task: Task) -> Ending:
    """How an episode ended, from the record if it has ended already."""
    recorded: Any = scope.journal.get(scope.path, "outcome", 0)
    if recorded is not None:
        return Ending.model_validate(recorded)
    settings = EpisodeSettings(actions=run.config.actions, limits=run.config.limits, seed=str(run.config.seed))
    episode = Episode(
        task, lane.world(), lane.sandbox, scope.journal, settings=settings, path=scope.path, guard=lane.guard
    )
    ending = play(episode, given_code, code_of(procedure))
    if ending.outcome is Outcome.BROKEN:
        lane.drop_world()
    return ending
