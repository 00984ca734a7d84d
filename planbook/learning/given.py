"""Build from episodes that were played elsewhere: they are copied from other runs, or from files of episodes.

The building run also has their model calls, because it learns from them, but did not pay for them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from planbook.config import Config, Given
from planbook.envs import Task, known_environments
from planbook.errors import BadArgument, BadRun
from planbook.export.exporting import trajectory_of
from planbook.export.files import BadEpisode, line_of, read_episodes
from planbook.manuals import types_to_build_on
from planbook.planner import Ending, RunFacts, Trajectory, UnknownStrategy, known_method, method, rows_of
from planbook.runs import Entry, Run, RunFile, is_run, recorded_endings

Source = tuple[Given, RunFacts]
"""A run or file from which episodes are copied, and the facts about the run of its first episode."""


def episodes_in(path: Path) -> Iterator[Trajectory]:
    """Yield the episodes of a run or file that were played to their end. Raises BadArgument, BadRun."""
    if path.is_dir():
        with closing(Run.open(path)) as run:
            endings = recorded_endings(run)
            ended = [entry for entry in run.entries() if entry.index in endings]
            yield from (trajectory_of(run, entry) for entry in ended if endings[entry.index].outcome.played)
        return
    for place, episode in read_episodes(path):
        if isinstance(episode, BadEpisode):
            raise BadArgument(f"--from {path}, {place}: {episode}")
        if episode.ending.outcome.played:
            yield episode


def read_source(path: Path) -> Source:
    """Read a source once, and return it with the digest of its episodes. Raises BadArgument, BadRun."""
    if not path.exists() or (path.is_dir() and not is_run(path)):
        raise BadArgument(f"--from {path}: name the folder of a run, or a file that `planbook export` wrote")
    digest, facts, count = hashlib.sha256(), list[RunFacts](), 0
    for trajectory in episodes_in(path):
        _add(digest, trajectory)
        facts = facts or [trajectory.run]
        count += 1
    if not facts:
        raise BadArgument(f"--from {path}: none of its episodes has ended")
    if is_run(path):  # run.json has the full paths of user files, episodes have only their names
        facts[0] = facts[0].model_copy(update={"config": RunFile.read(path).config.model_dump(mode="json")})
    return Given(path=str(path.resolve()), sha256=digest.hexdigest(), episodes=count), facts[0]


def environment_of(sources: Sequence[Source]) -> dict[str, Any]:
    """Return the environment and options on which the sources agree, and the split of the first, as defaults.

    An environment that only an export names, and that is not installed, is left out, since its code would be run.
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
    """Return True if no source is an export, or was imported from one."""
    paths = [Path(given.path) for given, _ in sources]
    return all(is_run(path) and RunFile.read(path).imported is None for path in paths)


def planned_by(sources: Sequence[Source]) -> tuple[str, dict[str, JsonValue]]:
    """Return the method that played the episodes, and its options; AutoManual if it is unknown or differs."""
    planners = {facts.planner for _, facts in sources}
    planner = planners.pop() if len(planners) == 1 else ""
    options: Any = sources[0][1].config.get("planner_options") or {}
    try:
        (method if _were_played_here(sources) else known_method)(planner).options.model_validate(options)
    except (UnknownStrategy, ValidationError):
        return "automanual", {}
    return planner, options


def given_tasks(config: Config) -> list[Task]:
    """Return the tasks of the episodes to build on, in order, with a limit for each type.

    Raises BadArgument if there are none, or if they are of another environment; BadRun if a source has changed.
    """
    return [trajectory.task for trajectory in _select(config)]


def _select(config: Config) -> Iterator[Trajectory]:
    """Yield the episodes to build on."""
    assert config.learning is not None
    chosen_types, ids = set(config.selection.types), set(config.selection.ids)
    taken: Counter[str] = Counter()
    for trajectory in _read_all(config.learning.given):
        task = trajectory.task
        if task.env != config.environment.name:
            raise BadArgument(
                f"--from: {task.id} is a task of {task.env}, but the run builds for {config.environment.name}"
            )
        if ids and task.id not in ids:
            continue
        is_chosen = not chosen_types or task.type in chosen_types
        if not ids and not (is_chosen and types_to_build_on(config.environment.name, [task.type])):
            continue
        taken[task.type] += 1
        if ids or taken[task.type] <= config.learning.tasks_per_type:
            yield trajectory
    if not taken:
        raise BadArgument("--from: it has no episode of the chosen tasks or types")


def _read_all(sources: Sequence[Given]) -> Iterator[Trajectory]:
    for source in sources:
        digest = hashlib.sha256()
        for trajectory in episodes_in(Path(source.path)):
            _add(digest, trajectory)
            yield trajectory
        if digest.hexdigest() != source.sha256:
            raise BadRun(f"{source.path} has other episodes than when this building run began")


def _add(digest: Any, trajectory: Trajectory) -> None:
    digest.update(f"{line_of(trajectory)}\n".encode())


class Copies:
    """Copies the episodes to build on, one after the other, as the building run reaches them."""

    def __init__(self, run: Run) -> None:
        """Check the sources. Raises BadRun if one has changed."""
        given_tasks(run.config)
        self._run, self._rest = run, _select(run.config)
        self._recorded: Mapping[int, Ending] = recorded_endings(run)

    def copy_next(self, entry: Entry, *, left_out: bool = False) -> Ending | None:
        """Copy the next episode into the store, whole or not at all, and return its ending; None if it is left out."""
        trajectory = next(self._rest)
        if left_out:
            return None
        if (recorded := self._recorded.get(entry.index)) is not None:
            return recorded
        self._run.store.put_all(list(rows_of(trajectory, entry.path)))
        return trajectory.ending
