"""What a run does to its folder: makes it its own, and writes files that are whole."""

import fcntl
import os
from pathlib import Path

from planbook.errors import BadRun


def claim_folder(folder: Path) -> int:
    """Make the folder this process's to play, until it ends. Raises BadRun if another one plays it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise BadRun(f"{folder} is being played by another process; wait for it, or name another folder") from error
    except OSError as error:
        os.close(descriptor)
        raise BadRun(f"{folder} cannot be locked: {error.strerror}; keep runs on a disk of this machine") from error
    return descriptor


def write_whole(path: Path, text: str) -> None:
    """Whole or not at all: written beside and renamed."""
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
