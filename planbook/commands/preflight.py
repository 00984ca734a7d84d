"""Checks before a run begins: does the planning method have the procedures, plans and demonstrations that it needs?"""

from collections.abc import Sequence

from planbook.config import FOUND, Config
from planbook.console import ERRORS
from planbook.envs import Task, UnknownEnvironment, known_environments, load_environment
from planbook.errors import BadArgument
from planbook.manuals import existing_demonstrations
from planbook.planner import METHODS, Memory, method


def check_procedures(memory: Memory, config: Config, tasks: Sequence[Task]) -> None:
    """Warn about task types without a procedure.

    Raises BadProcedure if a procedure is invalid, or BadArgument if no type has one. With ``--after``, no
    procedure is needed: the first test runs of a learning curve use the knowledge from before any was learned.
    """
    if config.types == FOUND:
        _check_matches(memory, config, tasks)
        return
    by_type = {task.type: task for task in tasks}
    missing = sorted(type for type, task in by_type.items() if memory.recall(task).procedure is None)
    library = config.library_folder
    if len(missing) == len(by_type) and config.after is None:
        raise BadArgument(
            f"there is no procedure for {config.environment.name} in {library}; a library is a run of "
            f"`planbook build`, or a folder that holds {config.environment.name}/procedures/*.py (--library)"
        )
    if missing:
        ERRORS.print(f"No procedure in {library} for {', '.join(missing)}: those count as no_plan.", style="yellow")


def _check_matches(memory: Memory, config: Config, tasks: Sequence[Task]) -> None:
    """Warn about goals that match no procedure with certainty. Goals that only an episode reveals are not checked."""
    visible = [task.model_copy(update=config.task_overrides(task)) for task in tasks]
    unmatched = sum(bool(task.goal) and memory.recall(task).procedure is None for task in visible)
    if unmatched:
        ERRORS.print(
            f"No procedure is certain for {unmatched} of {len(visible)} goals: those count as no_plan.", style="yellow"
        )


def check_naive_plan(config: Config) -> None:
    """Raise BadArgument if the environment has no naive plan. The message names the environments that have one."""
    if config.planner != "naive" or config.environment.naive:
        return
    environments = [name for name in sorted(known_environments()) if _has_naive_plan(name)]
    raise BadArgument(f"naive has no plan for {config.environment.name}; it has one for {', '.join(environments)}")


def check_streaming(config: Config) -> None:
    """Raise BadArgument for ``--stream`` with a method that cannot run a plan while a model writes it."""
    if config.stream and not method(config.planner).streams:
        streaming = ", ".join(name for name, candidate in sorted(METHODS.items()) if candidate.streams)
        raise BadArgument(f"--stream: {config.title} cannot run a plan while a model writes it; {streaming} can")


def _has_naive_plan(environment: str) -> bool:
    try:
        return bool(load_environment(environment).naive)
    except UnknownEnvironment:  # registered by another package that cannot be imported
        return False


def missing_demonstrations(config: Config) -> str:
    """Return a sentence that names the missing demonstrations, or "" if none is missing."""
    strategy, environment = method(config.planner), config.environment.name
    available = existing_demonstrations(environment, strategy.demonstrations, config.library_folder)
    needed = strategy.options.model_validate(config.planner_options).wanted_demonstrations(strategy.demonstrations)
    missing = [name for name in needed if name not in available and name not in strategy.fallback_demonstrations]
    if not missing:
        return ""
    if not available:
        return f"{environment} has no demonstrations for {config.title}; none are shown"
    names = f"demonstration{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
    return f"{environment} has no {names} for {config.title}; only the others are shown"
