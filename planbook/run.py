"""A run: everything that one command did, in one folder.

``run.json`` says what was asked for and with which versions; ``run.db`` holds what happened.
"""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from envs import Selection, Task
from planbook.errors import BadRun
from planbook.store import Store
from sandbox import Limits

CONFIG_FILE, STORE_FILE = "run.json", "run.db"
RECORDED_PACKAGES = (
    "planbook",
    "RestrictedPython",
    "alfworld",
    "textworld",
    "miniwob",
    "selenium",
    "pydantic",
    "tree-sitter",
)


class Config(BaseModel):
    """What a run was asked to do. Two configurations that are equal give the same episodes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: str
    planner_options: dict[str, JsonValue] = Field(default_factory=dict)
    env: str
    env_options: dict[str, JsonValue] = Field(default_factory=dict)
    selection: Selection = Selection()
    repeats: int = Field(default=1, ge=1)
    actions: int = Field(ge=0)
    """Actions that one episode may take."""
    limits: Limits = Limits()
    seed: int = 0
    library: str = ""
    """The folder of procedures, or empty for the shipped ones."""


class RunFile(BaseModel):
    """The content of run.json."""

    model_config = ConfigDict(extra="forbid")

    config: Config
    begun: str
    versions: dict[str, str]


class Entry(BaseModel):
    """One episode that a run is to play: a task, and which of its repeats (from 0)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    task: Task
    repeat: int = 0

    @property
    def path(self) -> str:
        """The scope of the episode's events."""
        return f"task/{self.index}"


class Run:
    """An open run folder."""

    def __init__(self, folder: Path, file: RunFile, store: Store) -> None:
        self.folder, self.config, self.begun, self.versions, self.store = (
            folder,
            file.config,
            file.begun,
            file.versions,
            store,
        )

    @classmethod
    def create(cls, folder: Path, config: Config, tasks: Sequence[Task]) -> Self:
        """Begin a run in a folder, or take up the one that is there if it was asked for the same. Raises BadRun."""
        if (folder / CONFIG_FILE).exists():
            run = cls._same(folder, config)
        elif folder.exists() and any(folder.iterdir()):
            raise BadRun(f"{folder} is not empty and holds no run; name another folder with --out")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            file = RunFile(config=config, begun=datetime.now(UTC).isoformat(timespec="seconds"), versions=_versions())
            _write(folder / CONFIG_FILE, file.model_dump_json(indent=2))
            run = cls(folder, file, Store(folder / STORE_FILE))
        if not run.entries():
            run._list(tasks)
        return run

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a run that is there. Raises BadRun."""
        try:
            file = RunFile.model_validate_json((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise BadRun(f"{folder} holds no run: there is no {CONFIG_FILE}") from error
        except (OSError, UnicodeDecodeError, ValidationError) as error:
            raise BadRun(f"{folder / CONFIG_FILE} cannot be read: {error}") from error
        if not (folder / STORE_FILE).exists():
            raise BadRun(f"{folder} holds no run: there is no {STORE_FILE}")
        return cls(folder, file, Store(folder / STORE_FILE))

    @classmethod
    def _same(cls, folder: Path, config: Config) -> Self:
        run = cls.open(folder)
        asked, there = config.model_dump(), run.config.model_dump()
        if different := [name for name in asked if asked[name] != there[name]]:
            run.close()
            shown = "; ".join(f"{name}: {there[name]!r} there, {asked[name]!r} asked" for name in different)
            raise BadRun(f"{folder} holds another run ({shown}); name another folder with --out")
        return run

    def _list(self, tasks: Sequence[Task]) -> None:
        pairs = [(task, repeat) for repeat in range(self.config.repeats) for task in tasks]
        entries = [Entry(index=index, task=task, repeat=repeat) for index, (task, repeat) in enumerate(pairs)]
        self.store.put_all([("run", "task", entry.index, entry.model_dump(mode="json")) for entry in entries])

    def entries(self) -> list[Entry]:
        """The episodes of the run, in order."""
        return [Entry.model_validate(row.body) for row in self.store.events("run", "task")]

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def new_folder(runs: Path, config: Config) -> Path:
    """A folder name that says when and what, unused so far."""
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{Path(config.env.partition(':')[0]).stem}-{config.planner}"
    names = [stem, *(f"{stem}-{number}" for number in range(2, 1000))]
    return next(runs / name for name in names if not (runs / name).exists())


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in RECORDED_PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _write(path: Path, text: str) -> None:
    """Whole or not at all: written beside and renamed."""
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
