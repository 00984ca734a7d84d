"""`planbook import`: make a run from files of episodes. All commands that read runs can read it; none can play it."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.config import Config
from planbook.envs import file_digest
from planbook.errors import BadArgument, BadRun
from planbook.export.files import BadEpisode, read_episodes
from planbook.planner import Trajectory, TrajectoryRow, rows_of
from planbook.runs import RUNS, Entry, Imported, ImportedFile, ImportOrigin, Run, new_folder

MAX_LISTED = 30
"""Maximum number of faults that are listed."""
NAME_CHARACTERS = 60
"""Maximum number of characters of an environment or a planner in the name of a folder."""
BATCH = 5_000
"""Number of events that are written in one transaction."""
SEVERAL = "several"
"""Stands for the planner or the environment of a run if its episodes have different ones."""


class ImportedRun(BaseModel):
    """The output of ``planbook import --json``."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True, validate_by_name=True)

    episodes: int
    solved: int
    planners: tuple[str, ...]
    environments: tuple[str, ...] = Field(alias="worlds")
    run: str


class _Files:
    """What has been read so far: the files, the facts about the runs of their episodes, and all faults."""

    def __init__(self) -> None:
        self.files: list[ImportedFile] = []
        self.facts: list[dict[str, Any]] = []
        self.environments: set[str] = set()
        self.solved = 0
        self.faults: list[str] = []
        self._locations: dict[tuple[str, str, str, int], str] = {}

    def read(self, path: Path) -> Iterator[Trajectory]:
        """Yield the episodes of a file. After the first fault, only check the remaining episodes."""
        first_episode, sha256 = len(self.facts), file_digest(path)
        is_empty = True
        for location, episode in read_episodes(path):
            is_empty = False
            if isinstance(episode, BadEpisode):
                self.faults += [f"{path}, {location}: {fault}" for fault in episode.faults]
                continue
            key = (episode.run.planner, episode.task.env, episode.task.id, episode.repeat)
            if first := self._locations.get(key):
                self.faults.append(
                    f"{path}, {location}: {episode.task.id}, repeat {episode.repeat}, by {episode.run.planner} is "
                    f"already in {first}; import each run into its own folder, or leave one of the two out"
                )
                continue
            self._locations[key] = f"{path}, {location}"
            self.facts.append(episode.run.model_dump(mode="json"))
            self.environments.add(episode.task.env)
            self.solved += episode.ending.outcome.solved
            if not self.faults:
                yield episode
        if is_empty:
            self.faults.append(f"{path}: it has no episodes")
        self.files.append(ImportedFile(name=path.name, sha256=sha256, episodes=len(self.facts) - first_episode))

    @property
    def imported(self) -> Imported:
        """The part of run.json that describes the files."""
        origins = [ImportOrigin(episodes=len(list(group)), facts=facts) for facts, group in groupby(self.facts)]
        return Imported(files=tuple(self.files), origins=tuple(origins))

    @property
    def environment_versions(self) -> dict[str, JsonValue]:
        """The versions that the environment has reported about itself. Empty if they differ between episodes."""
        versions = [facts["world"] for facts in self.facts if facts["world"]]
        return versions[0] if versions and all(other == versions[0] for other in versions) else {}

    def check(self) -> None:
        """Raise BadArgument with all faults, if there are any."""
        if self.faults:
            more = f"\n... and {len(self.faults) - MAX_LISTED} more" if len(self.faults) > MAX_LISTED else ""
            faults = "\n".join(self.faults[:MAX_LISTED])
            raise BadArgument(f"nothing was imported, because of these faults:\n{faults}{more}")


def import_files(paths: Sequence[Path], out: Path | None) -> ImportedRun:
    """Make a run folder from files of episodes.

    The files are read once: a temporary folder is filled, and is renamed if there were no faults. Raises BadArgument if
    the files have faults, or BadRun if the folder exists or cannot be made.
    """
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadRun(f"{out} exists already; name another folder with --out")
    target = (out or RUNS / "import").absolute()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        files, config = _fill(temporary, paths)
        folder = out or new_folder(config, name=_name(config))
        temporary.replace(folder)
    except OSError as error:
        raise BadRun(f"{target} cannot be made: {error.strerror}; name another folder with --out") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return ImportedRun(
        episodes=len(files.facts),
        solved=files.solved,
        planners=tuple(sorted({facts["planner"] for facts in files.facts})),
        environments=tuple(sorted(files.environments)),
        run=str(folder),
    )


def _fill(folder: Path, paths: Sequence[Path]) -> tuple[_Files, Config]:
    """Fill a folder with the episodes of the files. Raises BadArgument if they have faults."""
    files, rows = _Files(), list[TrajectoryRow]()
    with closing(Run.create(folder, Config(planner=SEVERAL, env=SEVERAL, actions=0), [])) as run:
        for index, trajectory in enumerate(chain.from_iterable(map(files.read, paths))):
            entry = Entry(index=index, task=trajectory.task, repeat=trajectory.repeat)
            rows += [("run", "task", index, entry.model_dump(mode="json")), *rows_of(trajectory, entry.path)]
            if len(rows) >= BATCH:
                run.store.put_all(rows)
                rows.clear()
        files.check()
        run.store.put_all(rows)
        if files.environment_versions:
            run.store.put("run", "versions", 0, files.environment_versions)
        config = config_of(files.imported, files.environments)
        run.mark_imported(files.imported, config)
    return files, config


def config_of(imported: Imported, environments: set[str]) -> Config:
    """Return the configuration of the imported run.

    If all original runs have the same configuration, and it is valid here, it is kept, except for the settings for
    learning, because what was learned is not exported. Otherwise the result has only the planner and the environment.
    """
    facts = [origin.facts for origin in imported.origins]
    planners = {str(fact["planner"]) for fact in facts}
    if all(fact["config"] == facts[0]["config"] for fact in facts):
        with suppress(ValidationError):  # the configuration may come from another program or version
            return Config.model_validate(facts[0]["config"]).model_copy(update={"learning": None})
    return Config(planner=_single(planners), env=_single(environments), actions=0)


def _single(names: set[str]) -> str:
    return names.copy().pop() if len(names) == 1 else SEVERAL


def _name(config: Config) -> str:
    """Return a name for the folder from the environment and the planner, whose names in a file may be any text."""
    stems = (Path(name.partition(":")[0]).stem for name in (config.env, config.planner) if name != SEVERAL)
    return "-".join(("imported", *(re.sub(r"[^\w.-]", "_", stem)[:NAME_CHARACTERS] for stem in stems)))
