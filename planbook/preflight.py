"""Checks that are made before a run begins, is resumed or is joined.

A new run must have everything that it needs. If a run is resumed or joined, these functions find out what has changed
since it began, and refuse to mix episodes that were played under different conditions.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError

from planbook import knowledge
from planbook.config import FOUND, Config
from planbook.console import ERRORS
from planbook.envs import MissingRequirement, Task, validation_faults
from planbook.errors import BadArgument, BadRun
from planbook.inputs import current_inputs
from planbook.knowledge import check_ablations, learned_event, learning_scope, memory_of
from planbook.manuals import existing_demonstrations
from planbook.planner import INVOCATION, METHODS, Body, Ending, EventKind, Memory, fault_of_random, method
from planbook.runs import (
    DECISIVE,
    INPUTS_KEY,
    InputChange,
    Run,
    RunInputs,
    changed_inputs,
    changed_versions,
    is_run,
    recorded_endings,
    recorded_inputs,
    versions,
)
from planbook.wording import listed
from planbook.workers import Execution, check_executor, check_roles

# Before a run begins


def check_settings(config: Config, execution: Execution) -> None:
    """Raise an error if a new run cannot be played with these settings. This check does not load any tasks."""
    check_ablations(config.without, for_build=config.learning is not None)
    check_roles(config)
    _check_method(config)
    check_executor(config, execution)


def check_knowledge(config: Config, tasks: Sequence[Task]) -> None:
    """Warn about missing demonstrations, goals without a procedure, and a ``--dry-run`` without effect.

    Raises BadArgument if the run plays procedures, but there is no procedure for any of its tasks.
    """
    memory = _initial_memory(config)
    if config.copies_episodes:
        return
    if config.planner == "procedures" and not any(name.startswith("skill:") for name in config.without):
        _check_procedures(memory, config, tasks)
    if config.dry_run and config.environment.preconditions(tasks[0], config.environment_options) is None:
        name = config.environment.name
        ERRORS.print(f"--dry-run has no effect: {name} declares no preconditions for its actions.", style="yellow")
    if message := missing_demonstrations_warning(config):
        ERRORS.print(message, style="yellow")


def _initial_memory(config: Config) -> Memory:
    """Return the knowledge at the beginning of a run."""
    if config.learning is None:
        return memory_of(config)
    return knowledge.playing_memory(config, knowledge.learned_memory(config, knowledge.initial_state(config).knowledge))


def _check_procedures(memory: Memory, config: Config, tasks: Sequence[Task]) -> None:
    """Warn about goals without a procedure, if planbook itself finds the task types.

    Raises BadProcedure if a procedure is invalid, or BadArgument if no task type has a procedure. With ``--after``,
    BadArgument is not raised: the first run of a learning curve may use the knowledge from before any procedure was
    learned.
    """
    if config.types == FOUND:
        _check_matches(memory, config, tasks)
        return
    by_type = {task.type: task for task in tasks}
    if config.after is None and all(memory.recall(task).procedure is None for task in by_type.values()):
        name, folder = config.environment.name, config.library_folder
        existing = knowledge.library_knowledge(config).procedures
        if existing:
            types = f"{listed(by_type, 5)} in {folder}; it has procedures for {listed(sorted(existing), 20)}"
            raise BadArgument(f"there is no procedure for {types}")
        raise BadArgument(
            f"there is no procedure for {name} in {folder}; a library is a run of `planbook build`, or a folder that "
            f"holds {name}/procedures/*.py (--library)"
        )


def _check_matches(memory: Memory, config: Config, tasks: Sequence[Task]) -> None:
    """Warn about goals for which no procedure can be chosen with certainty.

    A task without a goal is not checked, since only its episode reveals the goal.
    """
    visible = [task.model_copy(update=config.task_overrides(task)) for task in tasks]
    unmatched = sum(bool(task.goal) and memory.recall(task).procedure is None for task in visible)
    if unmatched:
        ERRORS.print(
            f"No procedure can be chosen with certainty for {unmatched} of {len(visible)} goals: their tasks count as "
            "not solved (no plan).",
            style="yellow",
        )


def _check_method(config: Config) -> None:
    """Raise BadArgument if the planning method cannot play the environment, or does not allow ``--stream``."""
    environment = config.environment
    if config.planner == "naive" and not environment.naive:
        raise BadArgument(f"naive has no plan for {environment.name}")
    if config.planner == "random" and (fault := fault_of_random(environment, config.environment_options)):
        raise BadArgument(fault)
    if config.stream and not method(config.planner).streams:
        streaming = ", ".join(name for name, candidate in sorted(METHODS.items()) if candidate.streams)
        raise BadArgument(f"--stream: {config.title} cannot run a plan while a model writes it; {streaming} can")


def missing_demonstrations_warning(config: Config) -> str:
    """Return a sentence that names the missing demonstrations, or "" if none is missing."""
    planning_method, environment = method(config.planner), config.environment.name
    available = existing_demonstrations(environment, planning_method.demonstrations, config.library_folder)
    options = planning_method.options.model_validate(config.planner_options)
    needed = options.wanted_demonstrations(planning_method.demonstrations)
    missing = [name for name in needed if name not in available and name not in planning_method.fallback_demonstrations]
    if not missing:
        return ""
    names = f" {', '.join(map(repr, missing))}" if available else ""
    names = f"demonstration{'s' if len(missing) > 1 or not names else ''}{names}"
    add = f"to add one, write DIR/{environment}/demonstrations/{missing[0]}.md and give --library DIR"
    return f"{environment} has no {names} for {config.title}, so its prompts have none; {add}"


def print_paper_settings(config: Config) -> None:
    """Print the settings that a run with ``--paper`` takes from the paper, because the user gave no others."""
    from planbook.papers.settings import paper_settings

    selection, for_build = config.selection, config.learning is not None
    split = selection.split or config.environment.splits[0]
    paper = paper_settings(
        config.planner, config.env, split, selection.types, config.planner_options, for_build=for_build
    )
    ERRORS.print(f"Settings of {paper.paper} taken from its paper: {paper.describe_in_force(config) or 'none'}")


# Before a run is resumed or joined


def check_config(config: Config, folder: Path) -> Config:
    """Return the configuration unchanged, after checking that everything that it names still exists.

    Raises BadRun, UnknownEnvironment or UnknownStrategy if a file, an option, the library, the environment or the
    planning method no longer exists.
    """
    for name in (config.env, config.planner):
        path = Path(name.removeprefix("module:").partition(":")[0])
        if path.suffix == ".py" and not path.is_file():
            raise BadRun(
                f"{folder} was played with {path}, which is missing, and there is no unchanged copy next to the run; "
                "restore it"
            )
    environment = config.environment
    _check_options(environment.Options, config.env_options, environment.name, folder)
    _check_options(method(config.planner).options, config.planner_options, config.title, folder)
    if not config.library_folder.is_dir():
        raise BadRun(f"{folder} was played with the library {config.library}, which no longer exists; restore it")
    return config


def _check_options(model: type[BaseModel], options: Mapping[str, Any], owner: str, folder: Path) -> None:
    try:
        model.model_validate(options)
    except ValidationError as error:
        faults = "; ".join(validation_faults(error))
        remedy = "restore the version that it was played with"
        raise BadRun(f"{folder}: {owner} no longer takes these options ({faults}); {remedy}") from error


def report_changes(run: Run, execution: Execution, *, plays_again: bool = False) -> Body:
    """Print what has changed since the run began, and return a note about the changes for the invocation's record.

    Raises BadRun if new episodes would be added to episodes that were played with other data, prompts or knowledge, or
    with another release of planbook. If ``Execution.allow_changed`` is true, changed inputs are accepted, now and in
    later invocations; another release is never accepted. ``plays_again`` is True if episodes that have ended will be
    played again.
    """
    if run.is_new:
        return {}
    _refuse_other_release(run, plays_again)
    current = current_inputs(run.config, [entry.task for entry in run.entries()], execution.prices or run.prices)
    new_inputs, new_versions = changed_inputs(run.initial_inputs, current), changed_versions(run.versions, versions())
    if new_versions:
        ERRORS.print(f"This run began with different versions: {_join(new_versions)}.", style="yellow")
    if new_inputs:
        ERRORS.print(f"This run began with different inputs: {_join(new_inputs)}.", style="yellow")
    _report_unused_files(run.config)
    since_latest = changed_inputs(_latest_inputs(run), current)
    refused = [change for change in since_latest if change.part in DECISIVE]
    if refused and not execution.allow_changed and _would_mix_episodes(run, plays_again):
        raise BadRun(
            f"{run.folder} was played with inputs that have changed since ({_join(refused)}), so its next episodes "
            "would not be comparable. Restore the inputs; or repeat the run and compare the results: "
            f"`planbook rerun {run.folder}`; or continue anyway: `planbook run --resume {run.folder} --allow-changed`"
        )
    recorded: list[JsonValue] = [str(change) for change in (*new_versions, *new_inputs)]
    must_record = recorded or since_latest  # even if nothing differs from the original inputs any more
    return {"changed": recorded, INPUTS_KEY: current.model_dump(mode="json")} if must_record else {}


def _report_unused_files(config: Config) -> None:
    """Print which files have changed since the run stored their texts, since the run will not use the changed files."""
    options = method(config.planner).options.model_validate(config.planner_options)
    for path, text in options.stored_texts().items():
        with suppress(OSError):
            if path.read_text("utf-8-sig", errors="replace") != text:
                ERRORS.print(
                    f"{path} has changed since this run began. This run keeps the old text; to use the new one, begin "
                    "another run with --out.",
                    style="yellow",
                )


def report_changes_since_build(library: Path, current: RunInputs) -> None:
    """Warn if the library is a run, and the environment's code has changed since then. Changed tasks are ignored."""
    if not is_run(library):
        return
    with closing(Run.open(library)) as built:
        changes = changed_inputs(_latest_inputs(built), current)
    data = [change for change in changes if change.part == "data" and None not in (change.then, change.now)]
    code = [change for change in data if change.name.startswith(("the ", "module"))]
    if code:
        ERRORS.print(f"The environment has changed since {library} was built: {_join(code)}.", style="yellow")


def report_tasks_learned_from(config: Config, tasks: Sequence[Task]) -> None:
    """Warn if the library, which may be a run or its folder ``learned``, was learned from some of the tasks."""
    if config.learning is not None:
        return
    learned = _tasks_learned_from(config.library_folder, config.after)
    if used := sum(_identity(task) in learned for task in tasks):
        share = f"{used} of the {len(tasks)} tasks" if len(tasks) > 1 else "The task"
        were, their = ("were", "their") if used > 1 else ("was", "its")
        learned_from = f"{share} {were} used to learn the library {config.library_folder}"
        ERRORS.print(f"{learned_from}; {their} results say nothing about new tasks.", style="yellow")


def _tasks_learned_from(library: Path, after: int | None) -> set[tuple[str, int, str]]:
    """Return the identities of the first ``after`` tasks of a run of `planbook build` that it played."""
    folder = library if is_run(library) else library.parent
    if not is_run(folder) or (folder != library and library.name != "learned"):
        return set()
    with suppress(BadRun, MissingRequirement), closing(Run.open(folder)) as run:  # `learned` is enough to play
        endings = finished_endings(run) if run.config.learning else {}
        entries = [entry for entry in run.entries()[:after] if entry.index in endings]
        return {_identity(entry.task) for entry in entries if endings[entry.index].outcome.played}
    return set()


def _identity(task: Task) -> tuple[str, int, str]:
    """Return what distinguishes a task. The goal is included, since two task files may contain the same ids."""
    return task.id, task.seed, task.goal


def _refuse_other_release(run: Run, plays_again: bool) -> None:
    """Raise BadRun if episodes are still to be played in a run that another release of planbook began.

    Another release may run plans differently in its sandbox.
    """
    then, now = run.versions.get("planbook", ""), versions()["planbook"]
    if _release(then) != _release(now) and _would_mix_episodes(run, plays_again):
        raise BadRun(
            f"{run.folder} was begun by planbook {then or 'of an unknown version'}, whose sandbox runs plans "
            f"differently from that of planbook {now}. Play it again: `planbook rerun {run.folder}`; or resume it with "
            f"planbook {then}"
        )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def _join(changes: list[InputChange]) -> str:
    return "; ".join(map(str, changes))


def _would_mix_episodes(run: Run, plays_again: bool) -> bool:
    """Return True if some episodes of the run have begun, and some are still to be played, or will be played again."""
    kinds: tuple[EventKind, ...] = ("task", "learned")
    begun = any(event.scope.startswith(("task/", "learn/")) for event in run.store.events(kind=kinds))
    return begun and (plays_again or len(finished_endings(run)) < len(run.entries()))


def finished_endings(run: Run) -> dict[int, Ending]:
    """Return a dict that maps the index of each finished episode to its ending.

    In a run that learns from each episode, an episode counts as finished only after its learning step.
    """
    endings = recorded_endings(run)
    if not run.config.learning:
        return endings
    learned = {entry.index for entry in run.entries() if learned_event(run, learning_scope(entry)) is not None}
    return {index: ending for index, ending in endings.items() if index in learned}


def _latest_inputs(run: Run) -> RunInputs | None:
    """Return the latest recorded inputs: those of the last resume that found changes, or those of the run's start."""
    recorded = filter(None, (recorded_inputs(row.body) for row in run.store.events("run", INVOCATION)))
    return [run.initial_inputs, *recorded][-1]
