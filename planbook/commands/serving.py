"""`planbook mcp`: an environment and what was learned about it, for any MCP client."""

import sys
from collections.abc import Sequence
from contextlib import closing, redirect_stdout
from pathlib import Path

import click
from pydantic import BaseModel

from planbook import errors
from planbook.config import LIBRARIES
from planbook.envs import Environment, Task, ToolEnvironment
from planbook.knowledge import learned_in, with_manual
from planbook.manuals import read_knowledge
from planbook.options import options
from planbook.planner import EpisodeSettings
from planbook.rules import Knowledge, render_environment
from planbook.runs import Run, is_run
from planbook.sandbox import Sandbox
from planbook.settings import Settings

DEFAULT_ACTIONS = 10_000
"""Default of ``--actions``: the maximum number of actions that all plans of one task take together."""
FREE = "session"
"""Id and type of the only task of an environment without tasks. What to do is up to the client."""


@click.command()
@options("Environment", "split", "types", "seeds", "tasks", "limits", "seed", "actions", "library", "unsafe_no_sandbox")
def mcp(settings: Settings) -> int:
    """Serve an environment to an MCP client over stdio: check_plan, run_plan, verified procedures and the manual."""
    from planbook.serving.server import serve  # the SDK is slow to import, and is an optional dependency
    from planbook.serving.session import PlanSession

    with redirect_stdout(sys.stderr):  # modules may print when they are loaded
        environment, chosen = settings.environment(), settings.environment_options()
        tasks, learned = tasks_of(settings, environment, chosen), knowledge(settings)
    actions = DEFAULT_ACTIONS if settings.actions is None else settings.actions
    limits = EpisodeSettings(actions, settings.limits, str(settings.seed))
    with Sandbox(modules=environment.modules, unsafe_no_sandbox=settings.unsafe_no_sandbox) as sandbox:
        serve(
            lambda: PlanSession(environment(chosen), sandbox, tasks, limits),
            render_environment(environment, chosen),
            tasks,
            learned,
        )
    return errors.OK


def tasks_of(settings: Settings, environment: type[Environment], chosen: BaseModel) -> Sequence[Task]:
    """Return the selected tasks, or one task with an open goal if the environment consists of tools and has no tasks.

    Raises BadSelection if no task has the selected ids or types.
    """
    if issubclass(environment, ToolEnvironment) and not environment.has_tasks(chosen):
        split, goal = environment.splits[0], "Do what the client asks for."
        return [Task(id=FREE, env=environment.name, split=split, type=FREE, goal=goal)]
    return environment.select(settings.selection(), chosen)


def knowledge(settings: Settings) -> Sequence[Knowledge]:
    """Return what was learned about the environment, from ``--library`` or by default from what ships."""
    library = settings.with_learned_library().library
    folder = LIBRARIES.get(library) or Path(library)
    if not is_run(folder):
        return [read_knowledge(folder, settings.environment(), settings.environment_options())]
    with closing(Run.open(folder)) as run:
        return [with_manual(run, group, state) for group, state in learned_in(run).items()]
