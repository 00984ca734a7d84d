"""Write files atomically: a file has a temporary name in the same folder until it is complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from planbook.errors import BadArgument

TEMPORARY_SUFFIX = ".new"
"""End of a temporary name, after the process id."""


@contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file for writing. When the block ends without an error, the file replaces ``path``.

    Raises OSError if the file cannot be written.
    """
    if path.exists() and not path.is_file():  # a device or a pipe is written directly, since it must not be replaced
        with path.open("wb") as file:
            yield file
        return
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def open_output(path: Path, *, make_folders: bool = False) -> Iterator[BinaryIO]:
    """Open a file that the user has named with ``--out``, like ``open_atomic``.

    With ``make_folders``, missing folders are created. Raises BadArgument if the file cannot be written.
    """
    try:
        if make_folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomic(path) as file:
            yield file
    except OSError as error:
        reason = error.strerror or error
        raise BadArgument(f"{path} cannot be written: {reason}; name another file with --out") from error


def write_atomically(path: Path, text: str) -> None:
    """Write text to a file atomically, in UTF-8. Raises OSError if the file cannot be written."""
    with open_atomic(path) as file:
        file.write(text.encode("utf-8"))
