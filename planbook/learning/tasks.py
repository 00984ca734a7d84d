"""Choose the tasks of a run. For `planbook build`, they are drawn at random, or come from other runs.

`planbook build --from` plays no episodes. It copies episodes from other runs, or from files of episodes, and learns
from the copies. The model calls in these episodes are also copied, but do not count as costs of the new run.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue, ValidationError

from planbook.config import FOUND, GIVEN, Config, EpisodeSource
from planbook.envs import EnvsError, Selection, Task, known_environments
from planbook.errors import BadArgument, BadRun
from planbook.planner import Ending, UnknownStrategy, known_method, method
from planbook.runs import EpisodeEntry, Run, RunFile, is_run, recorded_endings

if TYPE_CHECKING:
    from planbook.planner import RunFacts, Trajectory


def tasks_of(config: Config) -> Sequence[Task]:
    """Return the tasks of a run. Raises BadSelection or BadArgument if the selection is invalid."""
    if config.learning:
        return building_tasks(config)
    return config.environment.select(config.selection, config.environment_options)


def building_tasks(config: Config) -> list[Task]:
    """Return the tasks of a run of `planbook build`.

    By default, some tasks of each type are drawn and shuffled with the run's seed, as in appendix D of AutoManual. With
    ``--types found``, tasks are drawn regardless of type. If the user names tasks, these are returned.
    With ``--from``, the tasks are those of the episodes to copy. Raises BadSelection or BadArgument if the selection or
    ``--verify`` is invalid.
    """
    _check_verify(config)
    if config.copies_episodes:
        return tasks_to_copy(config)
    rng = random.Random(f"building/{config.seed}")
    ignores_types = config.types == FOUND and not config.selection.ids
    selection = config.selection.model_copy(update={"limit": None}) if ignores_types else config.selection
    tasks = config.environment.select(selection, config.environment_options)
    if ignores_types:
        return rng.sample(tasks, min(config.selection.limit or config.building.tasks_per_type, len(tasks)))
    if config.selection.ids:
        return tasks
    from planbook.manuals import types_to_learn_from  # needed only to draw tasks

    chosen_types = types_to_learn_from(config.environment.name, sorted({task.type for task in tasks}))
    drawn: list[Task] = []
    for task_type in chosen_types:
        of_type = [task for task in tasks if task.type == task_type]
        drawn += rng.sample(of_type, min(config.building.tasks_per_type, len(of_type)))
    rng.shuffle(drawn)
    if not drawn:
        raise BadArgument(
            "`planbook build` uses none of the chosen task types, since they repeat others; choose others with --types"
        )
    return drawn


def _check_verify(config: Config) -> None:
    """Check the value of ``--verify``, such as ``train:20``: a split, and a number of its tasks.

    Raises BadArgument if the split is unknown, or the number is invalid.
    """
    splits, verify = config.environment.task_splits(config.environment_options), config.building.verify
    split, _, count = verify.partition(":")
    if verify and not (split in splits and count.isdecimal() and int(count)):
        raise BadArgument(
            f"--verify {verify}: write SPLIT:N, such as {splits[0]}:20; the splits are {', '.join(splits)}"
        )


Source = tuple[EpisodeSource, "RunFacts"]
"""A source of episodes (a run or a file), and facts about the run in which its first episode was played."""


def episodes_in(path: Path) -> Iterator["Trajectory"]:
    """Yield the episodes in a run's folder, or in a file, that were played to their end.

    Episodes that were exported with only their task and ending are left out. Raises BadRun if the run cannot be
    read, or BadArgument if the file contains an invalid episode.
    """
    from planbook.export.exporting import BadEpisode, trajectory_of  # slow to import, and rarely needed
    from planbook.export.importing import read_episodes

    if path.is_dir():
        with closing(Run.open(path)) as run:
            endings = recorded_endings(run)
            ended = [entry for entry in run.entries() if entry.index in endings]
            episodes = (trajectory_of(run, entry) for entry in ended if endings[entry.index].outcome.played)
            yield from (episode for episode in episodes if episode.rounds)
        return
    for location, episode in read_episodes(path):
        if isinstance(episode, BadEpisode):
            raise BadArgument(f"--from {path}, {location}: {episode}")
        if episode.ending.outcome.played and episode.rounds:
            yield episode


def read_source(path: Path) -> Source:
    """Read all episodes at a path, and return a source with their number and digest.

    Raises BadArgument if the path is neither a run nor a file of episodes, or if none of the episodes has ended. Raises
    BadRun if the run cannot be read.
    """
    if not path.exists() or (path.is_dir() and not is_run(path)):
        raise BadArgument(f"--from {path}: name the folder of a run, or a file that `planbook export` wrote")
    digest, facts, count = hashlib.sha256(), list["RunFacts"](), 0
    for trajectory in _read_with_digest(path, digest):
        facts = facts or [trajectory.run]
        count += 1
    if not facts:
        raise BadArgument(f"--from {path}: none of its episodes has ended")
    if is_run(path):  # run.json has the full paths of the user's files, but the facts of an episode have only names
        facts[0] = facts[0].model_copy(update={"config": RunFile.read(path).config.model_dump(mode="json")})
    return EpisodeSource(path=str(path.resolve()), sha256=digest.hexdigest(), episodes=count), facts[0]


def default_settings(sources: Sequence[Source]) -> dict[str, Any]:
    """Return the settings that a run of `planbook build` takes from its sources by default.

    These are the environment and its options, each if all sources agree on it, and the split of the first source. The
    environment is left out if it is not installed and a source is a file, or was imported from one: its name may be a
    path, and loading it would run the code at this path.
    """
    configs = [facts.config for _, facts in sources]
    common: dict[str, Any] = {}
    for name in ("env", "env_options"):
        if configs[0].get(name) and all(config.get(name) == configs[0][name] for config in configs):
            common[name] = configs[0][name]
    if str(common.get("env")) not in known_environments() and not _were_played_here(sources):
        common.pop("env", None)
    selection: Any = configs[0].get("selection")
    common["split"] = str(selection.get("split") or "") if isinstance(selection, dict) else ""
    return common


def _were_played_here(sources: Sequence[Source]) -> bool:
    """Return True if no source is a file of episodes, or a run that was imported from one."""
    paths = [Path(source.path) for source, _ in sources]
    return all(is_run(path) and RunFile.read(path).imported is None for path in paths)


def planning_method(sources: Sequence[Source]) -> tuple[str, dict[str, JsonValue]]:
    """Return the planning method with which the episodes were played, and its options.

    Return AutoManual without options if the sources have different methods, if the method is unknown, or if its options
    are invalid.
    """
    planners = {facts.planner for _, facts in sources}
    planner = planners.pop() if len(planners) == 1 else ""
    options: Any = sources[0][1].config.get("planner_options") or {}
    try:
        (method if _were_played_here(sources) else known_method)(planner).options.model_validate(options)
    except (UnknownStrategy, ValidationError):
        return "automanual", {}
    return planner, options


def _environment_task(config: Config, task: Task) -> Task:
    """Return a task as the environment defines it, since it may have been played without its type and params.

    If the environment does not have the task, return it as it was played.
    """
    try:
        return config.environment.select(Selection(ids=(task.id,)), config.environment_options)[0]
    except EnvsError:
        return task


def tasks_to_copy(config: Config) -> list[Task]:
    """Return the tasks of the episodes that a run copies, in order.

    Raises BadArgument if there are no such episodes, or if one belongs to a different environment. Raises BadRun if a
    source has changed since this run began.
    """
    if tasks := [task for task, _ in _chosen_episodes(config)]:
        return tasks
    raise BadArgument("--from: no episode belongs to the chosen tasks or types")


def _chosen_episodes(config: Config) -> Iterator[tuple[Task, "Trajectory"]]:
    """Yield the episodes to copy, each with its task as the environment defines it.

    These are the episodes of the chosen tasks, or at most ``tasks_per_type`` for each chosen type.
    """
    from planbook.manuals import types_to_learn_from

    chosen_types, ids = set(config.selection.types), set(config.selection.ids)
    counts = Counter[str]()
    for trajectory in _read_all(config.building.given):
        task = trajectory.task
        if task.env != config.environment.name:
            raise BadArgument(
                f"--from: {task.id} is a task of {task.env}, but this run learns about {config.environment.name}"
            )
        if ids and task.id not in ids:
            continue
        environment_task = _environment_task(config, task)
        task_type = environment_task.type if config.types == GIVEN else task.type  # the episode may lack the type
        is_chosen = not chosen_types or task_type in chosen_types
        if not ids and not (is_chosen and types_to_learn_from(config.environment.name, [task_type])):
            continue
        counts[task_type] += 1
        if ids or counts[task_type] <= config.building.tasks_per_type:
            yield environment_task, trajectory


def _read_all(sources: Sequence[EpisodeSource]) -> Iterator["Trajectory"]:
    for source in sources:
        digest = hashlib.sha256()
        yield from _read_with_digest(Path(source.path), digest)
        if digest.hexdigest() != source.sha256:
            raise BadRun(f"the episodes in {source.path} have changed since this run of `planbook build` began")


def _read_with_digest(path: Path, digest: Any) -> Iterator["Trajectory"]:
    """Yield the episodes at a path, and add each to the digest."""
    from planbook.export.exporting import line_of

    for trajectory in episodes_in(path):
        digest.update(f"{line_of(trajectory)}\n".encode())
        yield trajectory


def episodes_to_copy(run: Run) -> Iterator["Trajectory"]:
    """Return the episodes that a run copies. Raises BadRun if a source has changed since the run began."""
    tasks_to_copy(run.config)
    return (episode for _, episode in _chosen_episodes(run.config))


def copy_next(run: Run, entry: EpisodeEntry, remaining: Iterator["Trajectory"]) -> Ending:
    """Copy the next remaining episode of the entry's task to the store, in one transaction, and return its ending.

    If the entry already has an ending, because it was copied before or is skipped, nothing is copied, and this ending
    is returned. Raises BadRun if no episode of the entry's task remains.
    """
    from planbook.planner import rows_of

    trajectory = next((episode for episode in remaining if episode.task.id == entry.task.id), None)
    if trajectory is None:
        raise BadRun(f"the sources have no further episode of {entry.task.id} to learn from; build a new run")
    if (recorded := run.journal(entry.path).get(entry.path, "outcome", 0)) is not None:
        return Ending.model_validate(recorded)
    run.store.put_all(list(rows_of(trajectory, entry.path)))
    return trajectory.ending
