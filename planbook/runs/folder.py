"""The folder of a run: one process at a time claims it to play; files that a run names are found again after a move."""

import fcntl
import os
import time
from datetime import datetime
from pathlib import Path

from planbook.config import Config
from planbook.errors import BadRun

RUNS = Path("runs")
"""The folder of new runs, unless another one is given."""
BRANCHES = "branches"
"""Below a run's folder, the folder of runs that are forked from it."""
CONFIG_FILE = "run.json"
"""Written last, so that a folder without it holds no run yet."""
LOOKED_AT = 0.05
"""Seconds to wait for a process that only looks whether the folder is claimed."""


def new_folder(config: Config, runs: Path = RUNS, name: str = "") -> Path:
    """Make a folder whose name says when and what: world and planner, unless a name is given. Raises BadRun."""
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


ABOVE = 4
"""Number of folders above the run's own that are searched."""


def found_again(config: Config, folder: Path) -> Config:
    """Return the configuration with the present paths of an environment, method, library, script or recording.

    A path that is still there stays. Else the file is looked for by the end of its path, beside the run and in the
    folders above it, then in the working folder. What is found is held against its digest like any other.
    """
    found = {name: _named(getattr(config, name), folder) for name in ("env", "planner")}
    library = str(_found(Path(config.library), folder)) if Path(config.library).is_absolute() else config.library
    models = {role: _model(spec, folder) for role, spec in config.models.items()}
    new = {**found, "library": library, "models": models}
    moved = {name: value for name, value in new.items() if value != getattr(config, name)}
    return config.model_copy(update=moved) if moved else config


def _named(spec: str, folder: Path) -> str:
    """Return FILE.py:NAME with the file's present path."""
    path, colon, name = spec.partition(":")
    return f"{_found(Path(path), folder)}{colon}{name}" if path.endswith(".py") else spec


def _model(spec: str, folder: Path) -> str:
    kind, _, rest = spec.partition(":")
    if kind == "scripted":
        return f"{kind}:{_named(rest, folder)}"
    if kind != "recorded":
        return spec
    path, plus, inner = rest.partition("+")
    found = _found(Path(path), folder) if Path(path).is_absolute() else path
    return f"{kind}:{found}{plus}{_model(inner, folder) if inner else ''}"


def _found(path: Path, folder: Path) -> Path:
    """Return where the file or folder is now; its old path if it is nowhere."""
    if path.exists():
        return path
    for parent in (*folder.resolve().parents[:ABOVE], Path.cwd()):
        for length in range(len(path.parts) - 1, 0, -1):
            if (now := parent.joinpath(*path.parts[-length:])).exists():
                return now
    return path


def without_folders(config: Config) -> Config:
    """Return the configuration with the names of files alone: the folders they are in are this machine's."""
    models = {role: _model_name(spec) for role, spec in config.models.items()}
    names = {name: _name(getattr(config, name)) for name in ("env", "planner")}
    return config.model_copy(update={**names, "library": Path(config.library).name, "models": models})


def _name(spec: str) -> str:
    path, colon, name = spec.partition(":")
    return f"{Path(path).name}{colon}{name}" if path.endswith(".py") else spec


def _model_name(spec: str) -> str:
    kind, _, rest = spec.partition(":")
    if kind == "scripted":
        return f"{kind}:{_name(rest)}"
    if kind not in ("recorded", "exchange"):
        return spec
    path, plus, inner = rest.partition("+") if kind == "recorded" else (rest, "", "")
    name = Path(path).name if Path(path).is_absolute() else path
    return f"{kind}:{name}{plus}{_model_name(inner) if inner else ''}"
