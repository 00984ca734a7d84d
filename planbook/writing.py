"""Files that are written whole or not at all: beside their place, and renamed once nothing is missing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

BESIDE = ".new"
"""Ends the name under which a file is written, after the number of the process that does it."""


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """The file, to write bytes to; it takes its place when this is left without an error. Raises OSError."""
    if path.exists() and not path.is_file():  # a device or a pipe, which must not be replaced
        with path.open("wb") as file:
            yield file
        return
    beside = path.with_name(f"{path.name}.{os.getpid()}{BESIDE}")
    try:
        with beside.open("wb") as file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """The same of a text, in UTF-8. Raises OSError."""
    with whole(path) as file:
        file.write(text.encode("utf-8"))
