"""Building from episodes that were played elsewhere: they are copied from other runs, or files of episodes.

Their calls of models are in the building run, since what was learned came from them; this run did not spend them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from planbook.config import Config, Given
from planbook.envs import Task
from planbook.errors import BadArgument, BadRun
from planbook.export import BadEpisode, Counts, ExportChoice, chosen, line_of, read_episodes
from planbook.manuals import types_to_build_on
from planbook.planner import Ending, RunFacts, Trajectory, UnknownStrategy, method, rows_of
from planbook.runs import Entry, Run, RunFile, is_run, recorded_endings
from planbook.wording import UNPLAYED

Source = tuple[Given, RunFacts]
"""A run or file that episodes are copied from, and the facts of the run of its first episode."""


def episodes_in(path: Path) -> Iterator[Trajectory]:
    """Yield the episodes of a run or file that were played to an end. Raises BadArgument, BadRun."""
    if path.is_dir():
        with closing(Run.open(path)) as run:
            yield from (each for each in chosen(run, ExportChoice(), Counts()) if each.ending.outcome not in UNPLAYED)
        return
    for place, episode in read_episodes(path):
        if isinstance(episode, BadEpisode):
            raise BadArgument(f"--from {path}, {place}: {episode}")
        if episode.ending.outcome not in UNPLAYED:
            yield episode


def looked_at(path: Path) -> Source:
    """Read a source once, for its digest. Raises BadArgument, BadRun."""
    if not path.exists() or (path.is_dir() and not is_run(path)):
        raise BadArgument(f"--from {path}: name the folder of a run, or a file that `planbook export` wrote")
    digest, facts, number = hashlib.sha256(), list[RunFacts](), 0
    for trajectory in episodes_in(path):
        _add(digest, trajectory)
        facts = facts or [trajectory.run]
        number += 1
    if not facts:
        raise BadArgument(f"--from {path}: none of its episodes has ended")
    if is_run(path):  # which names an environment or a method of the user's own by its whole path
        facts[0] = facts[0].model_copy(update={"config": RunFile.read(path).config.model_dump(mode="json")})
    return Given(path=str(path.resolve()), sha256=digest.hexdigest(), episodes=number), facts[0]


def environment_of(sources: Sequence[Source]) -> dict[str, Any]:
    """Return environment, options and split as far as the sources agree on them: defaults for the command line."""
    configs = [facts.config for _, facts in sources]
    agreed: dict[str, Any] = {}
    for name in ("env", "env_options"):
        if configs[0].get(name) and all(config.get(name) == configs[0][name] for config in configs):
            agreed[name] = configs[0][name]
    selection: Any = configs[0].get("selection")
    agreed["split"] = str(selection.get("split") or "") if isinstance(selection, dict) else ""
    return agreed


def planned_by(sources: Sequence[Source]) -> tuple[str, dict[str, JsonValue]]:
    """Return the method that played the episodes, with its options; AutoManual if it is not known here."""
    planners = {facts.planner for _, facts in sources}
    planner = planners.pop() if len(planners) == 1 else ""
    options: Any = sources[0][1].config.get("planner_options") or {}
    try:
        method(planner).options.model_validate(options)
    except (UnknownStrategy, ValidationError):
        return "automanual", {}
    return planner, options


def given_tasks(config: Config) -> list[Task]:
    """Return the tasks of the episodes to build on, in order, limited for each type.

    Raises BadArgument where there are none, or of another environment; BadRun if a source is not what it was.
    """
    return [trajectory.task for trajectory in _picked(config)]


def _picked(config: Config) -> Iterator[Trajectory]:
    """Yield the episodes to build on."""
    assert config.learning is not None
    chosen_types, ids = set(config.selection.types), set(config.selection.ids)
    taken: Counter[str] = Counter()
    for trajectory in _all(config.learning.given):
        task = trajectory.task
        if task.env != config.environment.name:
            raise BadArgument(
                f"--from: {task.id} is a task of {task.env}, and what is built is for {config.environment.name}"
            )
        if ids and task.id not in ids:
            continue
        if not ids and not _is_built_on(config.environment.name, task.type, chosen_types):
            continue
        taken[task.type] += 1
        if ids or taken[task.type] <= config.learning.tasks_per_type:
            yield trajectory
    if not taken:
        raise BadArgument("--from: it has no episode of the chosen tasks or types")


def _is_built_on(environment: str, kind: str, chosen_types: set[str]) -> bool:
    return (not chosen_types or kind in chosen_types) and bool(types_to_build_on(environment, [kind]))


def _all(sources: Sequence[Given]) -> Iterator[Trajectory]:
    for source in sources:
        digest = hashlib.sha256()
        for trajectory in episodes_in(Path(source.path)):
            _add(digest, trajectory)
            yield trajectory
        if digest.hexdigest() != source.sha256:
            raise BadRun(f"{source.path} holds other episodes than when this building run began")


def _add(digest: Any, trajectory: Trajectory) -> None:
    digest.update(f"{line_of(trajectory)}\n".encode())


class Copies:
    """Copies the episodes to build on, one after the other, as the building run reaches them."""

    def __init__(self, run: Run) -> None:
        """Raises BadRun if a source has changed."""
        given_tasks(run.config)
        self._run, self._left = run, _picked(run.config)
        self._recorded: Mapping[int, Ending] = recorded_endings(run)

    def copied(self, entry: Entry, *, left_out: bool = False) -> Ending | None:
        """Copy the next entry's episode into the store, all or nothing, and return its ending.

        None for one that is left out.
        """
        trajectory = next(self._left)
        if left_out:
            return None
        if (there := self._recorded.get(entry.index)) is not None:
            return there
        self._run.store.put_all(list(rows_of(trajectory, entry.path)))
        return trajectory.ending
