"""What a run lacks of what its method looks for in a library: told before anything begins."""

from collections.abc import Sequence

from planbook.config import FOUND, Config
from planbook.console import ERRORS
from planbook.envs import Task, UnknownEnvironment, known_environments, load_environment
from planbook.errors import BadArgument
from planbook.manuals import demonstrated
from planbook.papers import paper_settings
from planbook.planner import METHODS, Memory, method


def check_procedures(memory: Memory, config: Config, tasks: Sequence[Task]) -> None:
    """See that there are procedures. Raises BadProcedure, BadArgument if there is nothing at all.

    After few building tasks there may be none yet: that is a point of a learning curve.
    """
    if config.types == FOUND:
        _check_matches(memory, config, tasks)
        return
    of_type = {task.type: task for task in tasks}
    missing = sorted(kind for kind, task in of_type.items() if memory.recall(task).procedure is None)
    library = config.library_folder
    if len(missing) == len(of_type) and config.after is None:
        raise BadArgument(
            f"there is no procedure for {config.environment.name} in {library}; a library is a building run, or a "
            f"folder that holds {config.environment.name}/procedures/*.py (--library)"
        )
    if missing:
        ERRORS.print(f"No procedure in {library} for {', '.join(missing)}: those count as no_plan.", style="yellow")


def _check_matches(memory: Memory, config: Config, tasks: Sequence[Task]) -> None:
    """Say how many goals no procedure is certain for. A goal may be known only once its episode has begun."""
    told = [task.model_copy(update=config.told(task)) for task in tasks]
    left = sum(bool(task.goal) and memory.recall(task).procedure is None for task in told)
    if left:
        ERRORS.print(
            f"No procedure is certain for {left} of {len(told)} goals: those count as no_plan.", style="yellow"
        )


def check_naive(config: Config) -> None:
    """Raise BadArgument if the environment has no naive plan; the message names those that have one."""
    if config.planner != "naive" or config.environment.naive:
        return
    environments = [name for name in sorted(known_environments()) if _has_naive(name)]
    raise BadArgument(f"naive has no plan for {config.environment.name}; it has one for {', '.join(environments)}")


def check_streams(config: Config) -> None:
    """See that there are plans to be run while they are written. Raises BadArgument, which names who writes such."""
    if config.stream and not method(config.planner).streams:
        those = ", ".join(name for name, each in sorted(METHODS.items()) if each.streams)
        raise BadArgument(f"--stream: {config.title} asks no model for a plan that is run as it stands; {those} do")


def _has_naive(environment: str) -> bool:
    try:
        return bool(load_environment(environment).naive)
    except UnknownEnvironment:  # that of another package, which does not import
        return False


def tell_paper(config: Config) -> None:
    """Say which settings a paper set, where nothing else was given."""
    building, chosen = config.learning is not None, config.selection
    theirs = paper_settings(config.planner, config.env, chosen.split or "", chosen.types, building=building)
    ERRORS.print(f"Settings of {theirs.paper}: {theirs}", soft_wrap=True, markup=False, highlight=False)


def tell_missing_demonstrations(config: Config) -> None:
    """Say once which demonstrations the method would show, and the environment has not."""
    if told := missing_demonstrations(config):
        ERRORS.print(told, style="yellow", soft_wrap=True)


def missing_demonstrations(config: Config) -> str:
    """One line on the demonstrations that the environment lacks under the run's options; empty if it lacks none."""
    strategy, environment = method(config.planner), config.environment.name
    there = demonstrated(environment, strategy.demonstrations, config.library_folder)
    wanted = strategy.options.model_validate(config.planner_options).wanted(strategy.demonstrations)
    missing = [name for name in wanted if name not in there and name not in strategy.stand_ins]
    if not missing:
        return ""
    if not there:
        return f"{environment} has no demonstrations for {config.title}; none are shown"
    names = f"demonstration{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
    return f"{environment} has no {names} for {config.title}; only the others are shown"
