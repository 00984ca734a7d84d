"""The folder of a run: it is made, and it is one process's own while that plays the run."""

import fcntl
import os
import time
from datetime import datetime
from pathlib import Path

from planbook.config import Config
from planbook.errors import BadRun

RUNS = Path("runs")
"""Where runs are begun that were given no folder."""
CONFIG_FILE = "run.json"
"""Says what the run was asked to do; written last, so that a folder without it holds no run yet."""
LOOKED_AT = 0.05
"""Seconds to wait for somebody who only looks whether the folder is taken; that is over at once."""


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
    raise BadRun(f"{runs} is full of runs begun this second; name a folder with --out")


def is_run(folder: Path) -> bool:
    """Whether it is the folder of a run."""
    return (folder / CONFIG_FILE).is_file()


def claim_folder(folder: Path) -> int:
    """Make the folder this process's to play, until it closes the descriptor or ends. Raises BadRun if it is taken."""
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
    """Whether a process has it now. Whoever wants it in the same moment is not put off, see ``claim_folder``."""
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
