"""A run on disk: its folder, and run.json with what was asked for, with which inputs, and for which episodes."""

import fcntl
import os
import time
from collections.abc import Callable
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.config import RECORDINGS, Config
from planbook.envs import Task
from planbook.errors import BadRun
from planbook.planner import Budget, Timeouts
from planbook.store import Schema
from planbook.writing import write_whole

RUNS = Path("runs")
"""The folder of new runs, unless another one is given."""
BRANCHES = "branches"
"""Below a run's folder, the folder of runs that are forked from it."""
CONFIG_FILE = "run.json"
"""Written last, so that a folder without it holds no run yet."""
LOOKED_AT = 0.05
"""Seconds to wait for a process that only looks whether the folder is claimed."""


def new_folder(config: Config, runs: Path = RUNS, name: str = "") -> Path:
    """Make a folder whose name says when and what: environment and planner, unless a name is given. Raises BadRun."""
    name = name or f"{Path(config.env.partition(':')[0]).stem}-{Path(config.planner.partition(':')[0]).stem}"
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{name}"
    for name in (stem, *(f"{stem}-{number}" for number in range(2, 1000))):
        try:
            (runs / name).mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise BadRun(f"{runs / name} cannot be made: {error.strerror}; name another folder with --out") from error
        return runs / name
    raise BadRun(f"{runs} already holds runs that began this second; name a folder with --out")


def new_branch(run: Path, name: str) -> Path:
    """Return a new folder for a run that is forked from another; it is made with the run."""
    names = (name, *(f"{name}-{number}" for number in range(2, 1000)))
    return next(run / BRANCHES / each for each in names if not (run / BRANCHES / each).exists())


def branches_of(run: Path) -> list[Path]:
    """Return the folders of the runs that were forked from a run, below its own."""
    return sorted(path.parent for path in run.glob(f"{BRANCHES}/*/{CONFIG_FILE}"))


def is_run(folder: Path) -> bool:
    """Return whether a folder holds a run."""
    return (folder / CONFIG_FILE).is_file()


def claim_folder(folder: Path) -> int:
    """Claim a folder for this process until it closes the descriptor or ends. Raises BadRun if it is claimed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            _lock(descriptor, fcntl.LOCK_EX)
        except BlockingIOError:
            time.sleep(LOOKED_AT)
            _lock(descriptor, fcntl.LOCK_EX)
    except BlockingIOError as error:
        os.close(descriptor)
        raise BadRun(f"{folder} is being played by another process; wait for it, or name another folder") from error
    except OSError as error:
        os.close(descriptor)
        raise BadRun(f"{folder} cannot be locked: {error.strerror}; keep runs on a disk of this machine") from error
    return descriptor


def is_claimed(folder: Path) -> bool:
    """Return whether a process has claimed the folder. This does not make a claim at the same moment fail."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, fcntl.LOCK_SH)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock(descriptor: int, how: int) -> None:
    fcntl.flock(descriptor, how | fcntl.LOCK_NB)


OnPath = Callable[[Path], Path]
"""Returns another path of the same file or folder."""
ABOVE = 4
"""Number of folders above the run's own that are searched."""


def found_again(config: Config, folder: Path) -> Config:
    """Return the configuration with the present paths of an environment, method, library, script or recording.

    A path that is still there stays. Else the file is looked for by the end of its path, beside the run and in the
    folders above it, then in the working folder. What is found is held against its digest like any other.
    """
    return with_paths(config, lambda path: _found(path, folder))


def without_folders(config: Config) -> Config:
    """Return the configuration with the names of files alone: the folders they are in are this machine's."""

    def bare(path: Path) -> Path:
        return Path(path.name) if path.is_absolute() or path.suffix == ".py" else path

    return with_paths(config, bare, library=Path(config.library).name)


def with_paths(config: Config, moved: OnPath, *, library: str = "") -> Config:
    """Return the configuration with other paths of the files and folders that it names."""
    names = {name: file_named(getattr(config, name), moved) for name in ("env", "planner")}
    if not library:
        library = str(moved(Path(config.library))) if Path(config.library).is_absolute() else config.library
    models = {role: model_named(spec, moved) for role, spec in config.models.items()}
    changed = {**names, "library": library, "models": models}
    return config.model_copy(update={name: new for name, new in changed.items() if new != getattr(config, name)})


def file_named(name: str, moved: OnPath) -> str:
    """Return FILE.py:NAME, module:FILE.py:NAME or mcp:FILE.json with another path; any other name as it is."""
    kind, colon, rest = name.partition(":")
    if kind == "module":
        return f"{kind}:{file_named(rest, moved)}"
    if kind == "mcp":
        return f"{kind}:{moved(Path(rest))}" if rest.endswith(".json") and " " not in rest else name
    return f"{moved(Path(kind))}{colon}{rest}" if kind.endswith(".py") else name


def model_named(model: str, moved: OnPath) -> str:
    """Return the name of a model with another path of its file or folder, if it has one."""
    kind, _, rest = model.partition(":")
    if kind == "exchange":
        return f"{kind}:{moved(Path(rest))}"
    if kind == "scripted":
        path, _, name = rest.rpartition(":")
        return f"{kind}:{moved(Path(path))}:{name}"
    if kind != "recorded" or (RECORDINGS / f"{rest}.jsonl").is_file():
        return model
    path, plus, inner = rest.partition("+")
    return f"{kind}:{moved(Path(path))}{plus}{model_named(inner, moved) if inner else ''}"


def _found(path: Path, folder: Path) -> Path:
    """Return where the file or folder is now; its old path if it is nowhere."""
    if path.exists():
        return path
    for parent in (*folder.resolve().parents[:ABOVE], Path.cwd()):
        for length in range(len(path.parts) - 1, 0, -1):
            if (now := parent.joinpath(*path.parts[-length:])).exists():
                return now
    return path


class MadeOf(BaseModel):
    """The inputs of a run apart from versions. All but the seeds are digests (SHA-256, shortened for prompts), by name.

    ``knowledge`` is library, start and demonstrations. ``models`` are recordings and scripts that answer. ``seeds`` has
    that of the run and those that models are sent in the first repeat, by role; the seeds of tasks are in the tasks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: dict[str, str] = {}
    prompts: dict[str, str] = {}
    knowledge: dict[str, str] = {}
    models: dict[str, str] = {}
    prices: dict[str, str] = {}
    seeds: dict[str, int | None] = {}


class ReadFile(BaseModel):
    """An imported file; ``sha256`` is of its bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: str
    episodes: int


class ImportOrigin(BaseModel):
    """A run that a number of consecutive episodes were exported from; ``facts`` as in the schema of exports."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episodes: int
    facts: dict[str, JsonValue]


class Imported(BaseModel):
    """Marks a run whose episodes were played elsewhere."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: tuple[ReadFile, ...]
    origins: tuple[ImportOrigin, ...] = Field(default=())

    def facts_of(self, index: int) -> dict[str, Any]:
        """Return the facts of the run that an episode comes from."""
        last = accumulate(origin.episodes for origin in self.origins)
        return next(origin.facts for origin, end in zip(self.origins, last, strict=True) if index < end)


class Fork(BaseModel):
    """Where a run was forked from: an episode of another run, and the number of its actions that are kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    """The folder of the other run."""
    episode: int
    at: int
    repeat: int = 0
    """The repeat of the task there, which sets the random numbers of the episode."""
    without: tuple[str, ...] = ()
    """Parts that the planner is not told, but was told there."""
    change: str = ""
    """What is different from then on, in words."""


GRAPH_PLANNER = "graph"
"""The planner in run.json of a run that holds passes of a prompt graph."""


class RunFile(BaseModel):
    """The content of run.json. ``rerun_of`` is the folder of the run that this one repeats, if it does."""

    model_config = ConfigDict(extra="forbid")

    config: Config
    begun: str
    versions: dict[str, str]
    budget: Budget = Budget()
    timeouts: Timeouts = Field(default=Timeouts(), exclude_if=lambda timeouts: timeouts == Timeouts())
    """Timeouts of its model calls."""
    unsafe_no_sandbox: bool = Field(default=False, exclude_if=lambda unsafe: not unsafe)
    """True if its plans may run where the kernel cannot confine them."""
    store: Schema | None = None
    """The place of the events, if not in the folder."""
    made_of: MadeOf | None = None
    rerun_of: str = ""
    reworded_replies: int = Field(default=0, exclude_if=lambda number: not number)
    """Recorded replies to prompts whose wording has changed since they were recorded."""
    unjudgeable: dict[str, int] = Field(default_factory=dict, exclude_if=lambda counts: not counts)
    """Number of selected tasks that are not played because the environment cannot judge them, by reason."""
    forked: Fork | None = Field(default=None, exclude_if=lambda forked: forked is None)
    """Set for a run of one episode that plays on from a recorded action."""
    imported: Imported | None = Field(default=None, exclude_if=lambda imported: imported is None)
    """Set for a run that was played elsewhere."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the file in a run's folder; files that were moved with it get their present paths. Raises BadRun."""
        try:
            file = cls.model_validate_json((folder / CONFIG_FILE).read_text(encoding="utf-8"))
            return file.model_copy(update={"config": found_again(file.config, folder)})
        except FileNotFoundError as error:
            raise BadRun(f"{folder} holds no run: there is no {CONFIG_FILE}; name the folder of one") from error
        except ValidationError as error:
            told = f"{folder / CONFIG_FILE} is not that of a run, or of a later planbook: {_first(error)}"
            raise BadRun(told) from error
        except (OSError, UnicodeDecodeError) as error:
            raise BadRun(f"{folder / CONFIG_FILE} cannot be read: {error}") from error

    def write(self, folder: Path) -> None:
        """Write the file atomically."""
        write_whole(folder / CONFIG_FILE, self.model_dump_json(indent=2))


class Entry(BaseModel):
    """An episode that a run is to play: a task, and the index of its repeat."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    task: Task
    repeat: int = 0

    @property
    def path(self) -> str:
        """The scope of the episode's events."""
        return f"task/{self.index}"


def index_of(scope: str) -> int:
    """Return the index of the episode that a scope belongs to; -1 if it belongs to none."""
    name, _, below = scope.partition("/")
    number = below.partition("/")[0]
    return int(number) if name == "task" and number.isdecimal() else -1


def _first(error: ValidationError) -> str:
    """Return the first fault and its place, in one line."""
    fault = error.errors()[0]
    more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
    return f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}{more}"
