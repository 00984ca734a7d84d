"""`planbook import`: episodes out of files, as a run that every command can read and none can play."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.config import Config, chosen_options
from planbook.errors import BadArgument, BadRun
from planbook.export.files import BadEpisode, read_episodes, sha256_of
from planbook.planner import PlannerError, Trajectory, TrajectoryRow, rows_of
from planbook.runs import RUNS, Entry, Imported, ImportOrigin, ReadFile, Run, new_folder

SHOWN = 30
"""Faults that are listed; more are counted."""
AT_ONCE = 5_000
"""Events that are written in one transaction."""
SEVERAL = "several"
"""Stands for the planner or the environment of a run whose episodes have different ones."""


class ImportedRun(BaseModel):
    """The object that ends standard output."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True, validate_by_name=True)

    episodes: int
    solved: int
    planners: tuple[str, ...]
    environments: tuple[str, ...] = Field(alias="worlds")
    run: str


class _Files:
    """The files that are read: who made the episodes, and everything that is wrong."""

    def __init__(self) -> None:
        self.files: list[ReadFile] = []
        self.facts: list[dict[str, Any]] = []
        self.environments: set[str] = set()
        self.solved = 0
        self.faults: list[str] = []
        self._places: dict[tuple[str, str, str, int], str] = {}

    def read(self, path: Path) -> Iterator[Trajectory]:
        """Give the episodes of a file; once a fault was found, only faults are looked for."""
        begun, sha256 = len(self.facts), sha256_of(path)
        places = 0
        for place, episode in read_episodes(path):
            places += 1
            if isinstance(episode, BadEpisode):
                self.faults += [f"{path}, {place}: {fault}" for fault in episode.faults]
                continue
            key = (episode.run.planner, episode.task.env, episode.task.id, episode.repeat)
            if (first := self._places.setdefault(key, f"{path}, {place}")) != f"{path}, {place}":
                self.faults.append(
                    f"{path}, {place}: {episode.task.id}, repeat {episode.repeat}, by {episode.run.planner} stands "
                    f"in {first} already; import each run into a folder of its own, or leave one of the two out"
                )
                continue
            self.facts.append(episode.run.model_dump(mode="json"))
            self.environments.add(episode.task.env)
            self.solved += episode.ending.outcome.solved
            if not self.faults:
                yield episode
        if not places:
            self.faults.append(f"{path}: there is no episode in it")
        if sha256_of(path) != sha256:
            raise BadRun(f"{path} changed while it was imported; import it again")
        self.files.append(ReadFile(name=path.name, sha256=sha256, episodes=len(self.facts) - begun))

    @property
    def imported(self) -> Imported:
        """Return what run.json says about them."""
        origins = [ImportOrigin(episodes=len(list(same)), facts=facts) for facts, same in groupby(self.facts)]
        return Imported(files=tuple(self.files), origins=tuple(origins))

    @property
    def environment(self) -> dict[str, JsonValue]:
        """Versions that the environment named, if they are the same for all episodes."""
        said = [facts["world"] for facts in self.facts if facts["world"]]
        return said[0] if said and all(each == said[0] for each in said) else {}

    def check(self) -> None:
        """Raise BadArgument where anything is wrong, with all of it."""
        if self.faults:
            more = f"\n... and {len(self.faults) - SHOWN} more" if len(self.faults) > SHOWN else ""
            told = "\n".join(self.faults[:SHOWN])
            raise BadArgument(f"nothing was imported; what is wrong:\n{told}{more}")


def import_files(paths: Sequence[Path], out: Path | None) -> ImportedRun:
    """Make a run folder of the episodes of files, whole or not at all. Raises BadArgument, BadRun.

    The files are read once: a folder beside is filled, and gets its name when nothing was wrong.
    """
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadRun(f"{out} is there already; name another folder with --out")
    place = (out or RUNS / "import").absolute()
    beside = place.with_name(f".{place.name}.{os.getpid()}.new")
    try:
        found, config = _filled(beside, paths)
        folder = out or new_folder(config, name=_name(config))
        beside.replace(folder)
    except OSError as error:
        raise BadRun(f"{place} cannot be made: {error.strerror}; name another folder with --out") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    planners = tuple(sorted({facts["planner"] for facts in found.facts}))
    return ImportedRun(
        episodes=len(found.facts),
        solved=found.solved,
        planners=planners,
        environments=tuple(sorted(found.environments)),
        run=str(folder),
    )


def _filled(folder: Path, paths: Sequence[Path]) -> tuple[_Files, Config]:
    """Fill a folder with the episodes of the files. Raises BadArgument, BadRun."""
    found, rows = _Files(), list[TrajectoryRow]()
    with closing(Run.create(folder, Config(planner=SEVERAL, env=SEVERAL, actions=0), [])) as run:
        for index, trajectory in enumerate(chain.from_iterable(map(found.read, paths))):
            entry = Entry(index=index, task=trajectory.task, repeat=trajectory.repeat)
            rows += [("run", "task", index, entry.model_dump(mode="json")), *rows_of(trajectory, entry.path)]
            if len(rows) >= AT_ONCE:
                run.store.put_all(rows)
                rows.clear()
        found.check()
        run.store.put_all(rows)
        if found.environment:
            run.store.put("run", "versions", 0, found.environment)
        config = config_of(found.imported, found.environments)
        run.note_imported(found.imported, config)
    return found, config


def config_of(imported: Imported, environments: set[str]) -> Config:
    """Return the configuration of the run that the episodes come from, if there is one and it is valid here.

    Else planner and environment alone. It never builds: what was learned from the episodes did not come with them.
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
    return Config(planner=_one(planners), env=_one(environments), actions=0)


def _one(names: set[str]) -> str:
    return names.copy().pop() if len(names) == 1 else SEVERAL


def _name(config: Config) -> str:
    """Return the name of the folder: environment and planner, where there is one of them."""
    told = [name for name in (Path(config.env.partition(":")[0]).stem, config.planner) if name != SEVERAL]
    return "-".join(("imported", *told))
