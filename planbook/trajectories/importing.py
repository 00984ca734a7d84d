"""`planbook import`: episodes out of files, as a run that every command can read and none can play."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from planbook.config import Config, chosen_options
from planbook.errors import BadArgument, BadRun
from planbook.run import Entry, Run, new_folder
from planbook.trajectories.files import read_episodes, sha256_of
from planbook.trajectories.jsonl import BadEpisode
from planbook.trajectories.origin import Imported, Origin, ReadFile
from planbook.trajectories.schema import Trajectory
from planbook.trajectories.to_events import Row, rows_of
from planner import PlannerError

SHOWN = 30
"""Faults that are told; of more their number is."""
SEVERAL = "several"
"""Stands for the planner or the world of a run whose episodes have different ones."""


class ImportedRun(BaseModel):
    """The object that ends standard output."""

    model_config = ConfigDict(frozen=True)

    episodes: int
    solved: int
    planners: tuple[str, ...]
    worlds: tuple[str, ...]
    run: str


class _Found:
    """What a first look at the files gives: who made the episodes, and everything that is wrong."""

    def __init__(self) -> None:
        self.files: list[ReadFile] = []
        self.facts: list[dict[str, Any]] = []
        self.worlds: set[str] = set()
        self.solved = 0
        self.faults: list[str] = []

    def look_at(self, path: Path) -> None:
        """Read a file from end to end."""
        begun, sha256 = len(self.facts), sha256_of(path)
        places = 0
        for place, episode in read_episodes(path):
            places += 1
            if isinstance(episode, BadEpisode):
                self.faults += [f"{path}, {place}: {fault}" for fault in episode.faults]
            else:
                self.facts.append(episode.run.model_dump(mode="json"))
                self.worlds.add(episode.task.env)
                self.solved += episode.ending.outcome.solved
        if not places:
            self.faults.append(f"{path}: there is no episode in it")
        self.files.append(ReadFile(name=path.name, sha256=sha256, episodes=len(self.facts) - begun))

    @property
    def imported(self) -> Imported:
        """As run.json says it."""
        origins = [Origin(episodes=len(list(same)), facts=facts) for facts, same in groupby(self.facts)]
        return Imported(files=tuple(self.files), origins=tuple(origins))


def import_files(paths: Sequence[Path], out: Path | None) -> ImportedRun:
    """Make a run folder of the episodes of files, once all of them are found in order. Raises BadArgument, BadRun."""
    found = _Found()
    for path in paths:
        found.look_at(path)
    if found.faults:
        more = f"\n... and {len(found.faults) - SHOWN} more" if len(found.faults) > SHOWN else ""
        told = "\n".join(found.faults[:SHOWN])
        raise BadArgument(f"nothing was imported; what is wrong:\n{told}{more}")
    config = config_of(found.imported, found.worlds)
    folder = out or new_folder(config)
    _write(folder, config, found, paths)
    planners = tuple(sorted({facts["planner"] for facts in found.facts}))
    return ImportedRun(
        episodes=len(found.facts),
        solved=found.solved,
        planners=planners,
        worlds=tuple(sorted(found.worlds)),
        run=str(folder),
    )


def config_of(imported: Imported, worlds: set[str]) -> Config:
    """What the run's own file says was asked for: that of the episodes' run, where it is one that we know of.

    Else planner and world alone. It never builds rules: what was learnt from the episodes did not come with them.
    """
    facts = [origin.facts for origin in imported.origins]
    planners = {str(each["planner"]) for each in facts}
    if all(each["config"] == facts[0]["config"] for each in facts):
        try:
            config = Config.model_validate(facts[0]["config"])
            chosen_options(config, config.env)
            return config.model_copy(update={"learning": None})
        except (ValidationError, PlannerError):
            pass  # of other people's, of another version, or with a graph that is not here
    return Config(planner=_one(planners), env=_one(worlds), actions=0)


def _one(names: set[str]) -> str:
    return names.copy().pop() if len(names) == 1 else SEVERAL


def _write(folder: Path, config: Config, found: _Found, paths: Sequence[Path]) -> None:
    """Whole or not at all: the folder is filled beside and renamed. Raises BadRun."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadRun(f"{folder} is there already; name another folder with --out")
    beside = folder.absolute().with_name(f".{folder.absolute().name}.{os.getpid()}.new")
    try:
        with closing(Run.create(beside, config, [])) as run:
            _fill(run, found, paths)
        beside.replace(folder)
    except OSError as error:
        raise BadRun(f"{folder} cannot be made: {error.strerror}; name another folder with --out") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _fill(run: Run, found: _Found, paths: Sequence[Path]) -> None:
    worlds = [facts["world"] for facts in found.facts if facts["world"]]
    if worlds and all(each == worlds[0] for each in worlds):
        run.store.put("run", "versions", 0, worlds[0])
    for index, trajectory in enumerate(_episodes(paths)):
        entry = Entry(index=index, task=trajectory.task, repeat=trajectory.repeat)
        listed: Row = ("run", "task", index, entry.model_dump(mode="json"))
        run.store.put_all([listed, *rows_of(trajectory, entry.path)])
    if [sha256_of(path) for path in paths] != [file.sha256 for file in found.files]:
        raise BadRun("a file changed while it was imported; import it again")
    run.note_imported(found.imported)


def _episodes(paths: Sequence[Path]) -> Iterator[Trajectory]:
    for path in paths:
        for _, episode in read_episodes(path):
            if isinstance(episode, BadEpisode):
                raise BadRun(f"{path} changed while it was imported; import it again")
            yield episode
