"""The dry run of `planbook check --task`: a plan, held against what a world declares of its actions."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, JsonValue

from planbook.commands.executing import read_plan
from planbook.envs import Beliefs, Environment, Preconditions, Selection, Task
from planbook.planner import (
    TASK,
    KnownState,
    code_of,
    functions_to_check,
    is_procedure,
    parse_procedure,
    plan_attributes,
    seen_task,
)
from planbook.sandbox import DryRun, dry_run
from planbook.settings import Settings


def dry_runs(plan: Path, settings: Settings) -> Iterator[tuple[Task, DryRun | None]]:
    """The dry run of a plan on each task that is asked for; None where the world declares no preconditions."""
    world, options = settings.world(), settings.world_options()
    for task in world.select(Selection(ids=settings.tasks), options) if settings.tasks else ():
        declared = world.preconditions(task, options)
        yield task, _dry_run(plan, world, options, task, declared) if declared else None


def _dry_run(
    plan: Path, world: type[Environment], options: BaseModel | None, task: Task, declared: Preconditions
) -> DryRun:
    text, helpers = read_plan(plan), [world.helpers]
    if is_procedure(text):
        given = code_of(parse_procedure(text, plan.name, plan.resolve().parent.parent / "helpers"))
        text, helpers = given.code, [*helpers, given.helpers]
    return dry_run(
        text,
        functions_to_check(world, options),
        KnownState(declared, world.offered(options).actions, Beliefs.at_start(declared)),
        attributes=plan_attributes(world),
        values={TASK: _task_seen(world, options, task)},
        helpers=helpers,
    )


def _task_seen(world: type[Environment], options: BaseModel | None, task: Task) -> dict[str, JsonValue]:
    """The task as plans see it; its world is set up for the first observation, and nothing is done in it."""
    played = world(options)
    try:
        return seen_task(task, played.reset(task))
    finally:
        played.close()
