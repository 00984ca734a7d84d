"""What a run does to its folder: makes it its own while a process plays it, and writes files that are whole."""

import fcntl
import os
import time
from pathlib import Path

from planbook.errors import BadRun

LOOKED_AT = 0.05
"""Seconds to wait for somebody who only looks whether the folder is taken; that is over at once."""


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


def write_whole(path: Path, text: str) -> None:
    """Whole or not at all: written beside and renamed."""
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
