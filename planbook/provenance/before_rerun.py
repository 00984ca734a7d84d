"""Before a run is repeated: that everything is there which it needs, and what differs already."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from planbook.config import Config
from planbook.envs import Task
from planbook.errors import BadRun
from planbook.learning import tasks_of
from planbook.planner import Budget, method
from planbook.provenance.fingerprints import made_of
from planbook.run import Run, changed_versions, changes, versions
from planbook.wording import listed

PUT_BACK = "put back what it was played with"


class Repeat(NamedTuple):
    """What is to be played: the configuration, the tasks as they are now, the budget, and what differs already.

    ``goes_on`` says that the run itself is still being played, so that episodes without an ending may get one.
    """

    config: Config
    tasks: Sequence[Task]
    budget: Budget
    differs: tuple[str, ...]
    goes_on: bool


def prepared(folder: Path, models: Mapping[str, str], *, recorded: bool, prices: Path | None) -> Repeat:
    """What repeating the run takes; ``models`` stand in for its own, by role, ``recorded`` for all the others.

    Raises BadRun where something is not there any more, and what reading it raises.
    """
    with closing(Run.open(folder)) as run:
        _check_played(run)
        config = check_config(run.config, folder)
        was = [entry.task for entry in run.entries() if entry.repeat == 0]
        tasks = _tasks_now(config, was, folder)
        own = dict.fromkeys(config.models, f"recorded:{folder.resolve()}") if recorded else config.models
        config = config.model_copy(update={"models": {**own, **models}})
        now = made_of(config, tasks, prices)
        found = [*changed_versions(run.versions, versions()), *changes(run.made_of, now)]
        told = [str(change) for change in found if change.part != "models" or config.models == run.config.models]
        told += [f"task: {one.id} reads otherwise" for one, other in zip(was, tasks, strict=True) if one != other]
        if config.models != run.config.models:
            told.append(f"models: {_told(run.config.models)}, now {_told(config.models)}")
        return Repeat(config, tasks, run.budget, tuple(told), run.is_played)


def _check_played(run: Run) -> None:
    """Refuse a run that was imported: there is nothing to play once more. Raises BadRun."""
    if run.imported:
        raise BadRun(f"{run.folder} was imported, and not played here; repeat the run that it was exported from")


def is_deterministic(config: Config) -> bool:
    """Whether the same has to come out: no model is asked, or none that could answer otherwise."""
    return all(spec.startswith("recorded:") and "+" not in spec for spec in config.models.values())


def check_config(config: Config, folder: Path) -> Config:
    """The configuration, if everything that it names is still there. Raises BadRun and others."""
    world, options = config.world, method(config.planner).options
    try:
        world.Options.model_validate(config.env_options)
    except ValidationError as error:
        raise BadRun(f"{folder}: {world.name} no longer takes these options ({_faults(error)}); {PUT_BACK}") from error
    try:
        options.model_validate(config.planner_options)
    except ValidationError as error:
        told = f"{folder}: {config.title} no longer takes these options ({_faults(error)}); {PUT_BACK}"
        raise BadRun(told) from error
    if not config.library_folder.is_dir():
        raise BadRun(f"{folder} was played with the library {config.library}, which is not there any more; put it back")
    return config


def _tasks_now(config: Config, was: Sequence[Task], folder: Path) -> list[Task]:
    """The tasks of the run as their world has them now, in the run's order. Raises BadRun for one that it has not.

    Of a run that copies its episodes they are those of its sources, which must be what they were (BadArgument, BadRun).
    """
    if config.copies:
        return list(tasks_of(config))
    now = {task.id: task for task in tasks_of(config)}
    if gone := [task.id for task in was if task.id not in now]:
        raise BadRun(
            f"{folder} cannot be repeated: {config.world.name} no longer has the task {listed(gone, 1)} in this "
            "selection; put back the data that it was played on"
        )
    return [now[task.id] for task in was]


def _faults(error: ValidationError) -> str:
    each: list[Any] = list(error.errors())
    return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in each)


def _told(models: Mapping[str, str]) -> str:
    return ", ".join(f"{role}={spec}" for role, spec in models.items()) or "none"
