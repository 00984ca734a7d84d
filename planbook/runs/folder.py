"""The folder of a run, and the file run.json in it, which holds the run's configuration and describes its inputs."""

import fcntl
import os
import time
from collections.abc import Callable, Collection
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from planbook.atomic_files import write_atomically
from planbook.config import RECORDINGS, BuildingSettings, Config, PlayingSettings, StrictModel
from planbook.envs import EnvsError, Task, file_digest, known_environments, load_environment, validation_faults
from planbook.errors import BadRun
from planbook.options import flag_of_setting, flatten_settings
from planbook.planner import Budget, Timeouts
from planbook.store import Schema

RUNS = Path("runs")
"""The default parent folder of new runs."""
BRANCHES = "branches"
"""Name of the folder, inside a run's folder, that holds the run's forks (runs that continue one of its episodes)."""
CONFIG_FILE = "run.json"
"""Name of the file with the configuration. It is written last, so a folder without it holds no run yet."""
RETRY_SECONDS = 0.05
"""Seconds between the two attempts to claim a folder. The first may fail only because ``is_claimed`` holds a lock."""


def new_folder(config: Config, runs: Path = RUNS, name: str = "") -> Path:
    """Create a folder named after the current time and ``name`` (by default, the environment and the planner).

    Raises BadRun if the folder cannot be created.
    """
    name = name or f"{Path(config.env.partition(':')[0]).stem}-{Path(config.planner.partition(':')[0]).stem}"
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{name}"
    for name in (stem, *(f"{stem}-{number}" for number in range(2, 1000))):
        try:
            (runs / name).mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise BadRun(f"{runs / name} cannot be created: {error.strerror}; name a folder with --out") from error
        return runs / name
    raise BadRun(f"{runs} already holds runs that began this second; name a folder with --out")


def new_branch(run: Path, name: str) -> Path:
    """Return an unused path for the folder of a new fork, without creating it."""
    folders = (run / BRANCHES / stem for stem in (name, *(f"{name}-{number}" for number in range(2, 1000))))
    return next(folder for folder in folders if not folder.exists())


def branches_of(run: Path) -> list[Path]:
    """Return the folders of the forks inside a run's folder."""
    return sorted(path.parent for path in run.glob(f"{BRANCHES}/*/{CONFIG_FILE}"))


def is_run(folder: Path) -> bool:
    """Return True if a folder holds a run."""
    return (folder / CONFIG_FILE).is_file()


def claim_folder(folder: Path) -> int:
    """Claim a folder, and return a descriptor. The claim ends when the descriptor is closed or this process ends.

    Raises BadRun if another process has claimed the folder, or if it cannot be locked.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            _lock(descriptor, fcntl.LOCK_EX)
        except BlockingIOError:
            time.sleep(RETRY_SECONDS)
            _lock(descriptor, fcntl.LOCK_EX)
    except BlockingIOError as error:
        os.close(descriptor)
        raise BadRun(f"{folder} is in use by another process; wait until it ends, or name another folder") from error
    except OSError as error:
        os.close(descriptor)
        raise BadRun(f"{folder} cannot be locked: {error.strerror}; keep runs on a local disk") from error
    return descriptor


def is_claimed(folder: Path) -> bool:
    """Return True if a process has claimed the folder. This does not claim it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, fcntl.LOCK_SH)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock(descriptor: int, kind: int) -> None:
    fcntl.flock(descriptor, kind | fcntl.LOCK_NB)


ChangePath = Callable[[Path], Path]
"""A function that maps the path of a file or folder to a new path."""
SEARCHED_PARENTS = 4
"""Number of folders above the run's folder in which moved files are searched for."""
EXECUTED_SUFFIXES = (".py", ".json")
"""Suffixes of files that are executed, or that contain commands to execute."""
PROMPT_DIGITS = 16
"""Number of recorded digits of a prompt's digest: enough to tell versions of the prompt apart."""


def with_current_paths(config: Config, folder: Path, digests: Collection[str] = ()) -> Config:
    """Return the configuration with the current paths of its environment, method, library, scripts and recordings.

    If a path does not exist, the files may have been moved together with the run. So the last parts of the path, such
    as ``methods/my.py``, are looked up in the folders above the run's folder, and in the current folder. A file that
    would be executed is used only if it has one of the recorded ``digests``.
    """
    return with_paths(config, lambda path: _current_path(path, folder, digests))


MAX_SHOWN_CHARS = 80
"""Maximum total length of two differing values that a message shows."""

GRAPH_TEXTS = ("planner_options.text", "planner_options.graph")
"""Settings that may hold the text of a graph file."""


def describe_difference(name: str, existing: Any, new: Any) -> str:
    """Return the option that sets a setting, followed by the existing and the new value if these are short."""
    if name in GRAPH_TEXTS and isinstance(existing, str) and isinstance(new, str) and "\n" in existing + new:
        return "the graph file has changed"
    flag = flag_of_setting(name, PlayingSettings.model_fields | BuildingSettings.model_fields)
    then, now = (dict(flatten_settings(value)).get("", "none") for value in (existing, new))
    is_shown = then != now and len(then + now) <= MAX_SHOWN_CHARS and "\n" not in then + now
    return f"{flag}: {then}, now {now}" if is_shown and not flag.startswith("--no-") else flag


def without_folders(config: Config) -> Config:
    """Return the configuration with the names of files instead of their paths, which differ between machines."""
    return with_paths(config, _without_folder)


def model_without_folders(model: str) -> str:
    """Return the name of a model with the names of files instead of their paths."""
    return change_path_in_model(model, _without_folder)


def _without_folder(path: Path) -> Path:
    return Path(path.name) if path.is_absolute() or path.suffix == ".py" else path


def with_paths(config: Config, change: ChangePath) -> Config:
    """Return the configuration with ``change`` applied to the paths of its files and folders."""
    names = {name: change_path_in_name(getattr(config, name), change) for name in ("env", "planner")}
    library = str(change(Path(config.library))) if Path(config.library).is_absolute() else config.library
    models = {role: change_path_in_model(spec, change) for role, spec in config.models.items()}
    changed = {**names, "library": library, "models": models}
    return config.model_copy(update={name: new for name, new in changed.items() if new != getattr(config, name)})


def change_path_in_name(name: str, change: ChangePath) -> str:
    """Return the name of an environment or a planner. If it contains a path, ``change`` is applied to the path.

    Names with a path have the form FILE.py:NAME, module:FILE.py:NAME or mcp:FILE.json.
    """
    kind, colon, target = name.partition(":")
    if kind == "module":
        return f"{kind}:{change_path_in_name(target, change)}"
    if kind == "mcp":
        return f"{kind}:{change(Path(target))}" if target.endswith(".json") and " " not in target else name
    return f"{change(Path(kind))}{colon}{target}" if kind.endswith(".py") else name


def change_path_in_model(model: str, change: ChangePath) -> str:
    """Return the name of a model. If it contains a path, as in recorded:FILE, ``change`` is applied to the path."""
    kind, _, target = model.partition(":")
    if kind == "exchange" and target:
        return f"{kind}:{change(Path(target))}"
    if kind == "scripted":
        path, _, name = target.rpartition(":")
        return f"{kind}:{change(Path(path))}:{name}" if path else model
    if kind != "recorded" or (not Path(target).is_absolute() and (RECORDINGS / f"{target}.jsonl").is_file()):
        return model
    path, plus, inner = target.partition("+")
    return f"{kind}:{change(Path(path))}{plus}{change_path_in_model(inner, change) if inner else ''}"


def _current_path(path: Path, folder: Path, digests: Collection[str]) -> Path:
    """Return the current path of a file or folder that may have been moved, or ``path`` if it is not found."""
    if path.exists():
        return path
    for parent in (*folder.resolve().parents[:SEARCHED_PARENTS], Path.cwd()):
        for length in range(len(path.parts) - 1, 0, -1):
            moved = parent.joinpath(*path.parts[-length:])
            if moved.exists() and (path.suffix not in EXECUTED_SUFFIXES or _has_digest(moved, digests)):
                return moved
    return path


def _has_digest(path: Path, digests: Collection[str]) -> bool:
    digest = file_digest(path) if path.is_file() else ""
    return digest in digests or digest[:PROMPT_DIGITS] in digests


class RunInputs(StrictModel):
    """The inputs of a run, apart from software versions.

    Each field except ``seeds`` maps the names of inputs to their SHA-256 digests. The digests of prompts are shortened.
    ``knowledge`` covers the library, the examples with which learning begins, and the demonstrations. ``models`` covers
    recordings and scripts that act as models. ``seeds`` maps names to seeds: the run's own seed, and the seed that
    is sent to each role's model in the first repeat. The seeds of tasks are recorded with the tasks.
    """

    data: dict[str, str] = {}
    prompts: dict[str, str] = {}
    knowledge: dict[str, str] = {}
    models: dict[str, str] = {}
    prices: dict[str, str] = {}
    seeds: dict[str, int | None] = {}

    @field_validator("knowledge")
    @classmethod
    def _present_names(cls, digests: dict[str, str]) -> dict[str, str]:
        return {name.replace("learnt (all)", "learned (all)"): digest for name, digest in digests.items()}

    @property
    def digests(self) -> frozenset[str]:
        """The digests of data, prompts and models. They include the user's environment, method and model scripts."""
        return frozenset({*self.data.values(), *self.prompts.values(), *self.models.values()} - {""})


class ImportedFile(StrictModel):
    """A file from which episodes were imported. ``sha256`` is the digest of its bytes."""

    name: str
    sha256: str
    episodes: int


class ImportOrigin(StrictModel):
    """The exported run from which consecutive episodes of an imported run come.

    ``episodes`` is the number of these episodes. ``facts`` describes the exported run, in the format of exported files.
    """

    episodes: int
    facts: dict[str, JsonValue]


class Imported(StrictModel):
    """The files from which a run was imported, and the runs from which their episodes were exported."""

    files: tuple[ImportedFile, ...]
    origins: tuple[ImportOrigin, ...] = Field(default=())

    @property
    def configs(self) -> list[Any]:
        """The configurations of the runs from which episodes were exported; an empty dict for an unknown one."""
        return [origin.facts.get("config") or {} for origin in self.origins]

    @property
    def declarations(self) -> dict[str, Any]:
        """The facts that the exported runs recorded about their environment, or an empty dict if these facts differ."""
        origins: list[Any] = [origin.facts for origin in self.origins]
        declared = {(facts.get("answer_action", ""), tuple(facts.get("milestones", ()))) for facts in origins}
        return dict(zip(("answer_action", "milestones"), declared.pop(), strict=True)) if len(declared) == 1 else {}

    def facts_of(self, index: int) -> dict[str, Any]:
        """Return the facts about the run from which the episode with this index was exported."""
        ends = accumulate(origin.episodes for origin in self.origins)
        return next(origin.facts for origin, end in zip(self.origins, ends, strict=True) if index < end)


class Fork(StrictModel):
    """The origin of a forked run: an episode of another run. The fork keeps its first ``at`` actions."""

    run: str
    """The folder of the other run."""
    episode: int
    at: int
    repeat: int = 0
    """The number of the episode's repeat in the other run. The seed of the episode depends on it."""
    without: tuple[str, ...] = ()
    """Rules and skills from the other run that the fork leaves out."""
    change: str = ""
    """Describes how the fork differs from the other run after the kept actions."""


class LibraryRun(StrictModel):
    """The run that is the library of another run, as it was when the other run began.

    ``begun`` distinguishes it from later runs in the same folder. ``events`` is the number of its events.
    """

    begun: str
    events: int


GRAPH_PLANNER = "graph"
"""The planner in run.json if `planbook graph run` made the run. Such a run has no environment."""


class RunFile(BaseModel):
    """The content of run.json."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    config: Config
    begun: str
    versions: dict[str, str]
    budget: Budget = Budget()
    timeouts: Timeouts = Field(default=Timeouts(), exclude_if=lambda timeouts: timeouts == Timeouts())
    """Timeouts of the run's model calls."""
    unsafe_no_sandbox: bool = Field(default=False, exclude_if=lambda unsafe: not unsafe)
    """True if plans may run where the kernel cannot confine them."""
    store: Schema | None = None
    """The PostgreSQL schema that holds the events, or None if they are in the run's folder."""
    initial_inputs: RunInputs | None = Field(
        default=None, validation_alias=AliasChoices("inputs", "made_of"), serialization_alias="inputs"
    )
    """The inputs of the run when it began, or None if they were not recorded."""
    library_run: LibraryRun | None = Field(default=None, exclude_if=lambda library: library is None)
    """The library when the run began, or None if it is not a run, or was not recorded."""
    rerun_of: str = ""
    """The folder of the run that this one repeats, or empty."""
    reworded_replies: int = Field(default=0, exclude_if=lambda number: not number)
    """Number of model calls that got a recorded reply although the wording of their prompt had changed."""
    unjudgeable: dict[str, int] = Field(default_factory=dict, exclude_if=lambda counts: not counts)
    """Maps each reason why tasks cannot be judged in this installation to the number of tasks left out for it."""
    answer_action: str = Field(default="", alias="answering", exclude_if=lambda action: not action)
    """The name of the action that delivers a plan's answer. It is recorded only if the environment is neither
    shipped nor installed, because readers of a run do not load such an environment."""
    milestones: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """All milestones of the environment. They are recorded under the same condition as ``answer_action``."""
    forked: Fork | None = Field(default=None, exclude_if=lambda forked: forked is None)
    """The origin of a forked run: a run of one episode that continues another run after a recorded action."""
    imported: Imported | None = Field(default=None, exclude_if=lambda imported: imported is None)
    """The origin of an imported run, whose episodes were played elsewhere."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the file in a run's folder, with the current paths of files that were moved with the folder.

        Raises BadRun if the file cannot be read.
        """
        try:
            file = cls.model_validate_json((folder / CONFIG_FILE).read_text(encoding="utf-8"))
            digests = file.initial_inputs.digests if file.initial_inputs else frozenset[str]()
            return file.model_copy(update={"config": with_current_paths(file.config, folder, digests)})
        except FileNotFoundError as error:
            raise BadRun(f"{folder} holds no run: there is no {CONFIG_FILE}; name the folder of a run") from error
        except ValidationError as error:
            fault = validation_faults(error, "the whole file")[0]
            raise BadRun(
                f"{folder / CONFIG_FILE} is not the run.json of a run, or was written by another version of planbook: "
                f"{fault}"
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise BadRun(f"{folder / CONFIG_FILE} cannot be read: {error}") from error

    def write(self, folder: Path) -> None:
        """Write run.json atomically in a run's folder."""
        write_atomically(folder / CONFIG_FILE, self.model_dump_json(indent=2))


def declarations_of(env: str) -> dict[str, Any]:
    """Return what run.json records about an environment, so that readers of the run need not load it.

    The dict is empty if the environment is shipped or installed, because readers can then load it. It is also empty if
    the environment cannot be loaded.
    """
    if env in known_environments():
        return {}
    try:
        environment = load_environment(env)
    except EnvsError:
        return {}
    return {"answer_action": environment.answer_action, "milestones": environment.all_milestones}


class EpisodeEntry(StrictModel):
    """An episode of a run. If tasks are repeated, ``repeat`` is the number of the repeat, counted from 0."""

    index: int
    task: Task
    repeat: int = 0

    @property
    def path(self) -> str:
        """The scope of the episode's events."""
        return f"task/{self.index}"


def index_of(scope: str) -> int:
    """Return the index of the episode that contains a scope such as ``task/3/restart/1``, or -1 if there is none."""
    name, _, below = scope.partition("/")
    number = below.partition("/")[0]
    return int(number) if name == "task" and number.isdecimal() else -1
