"""Files of episodes: written whole or not at all, read whatever form they have."""

import hashlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from planbook.errors import BadArgument
from planbook.planner import Trajectory
from planbook.trajectories.jsonl import BadEpisode, read_lines
from planbook.writing import whole

STANDARD_OUTPUT = Path("-")
PARQUET_MAGIC = b"PAR1"
"""What a Parquet file begins with."""


@contextmanager
def to_write(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which is there only when all of it is; ``-`` is standard output. Raises BadArgument."""
    if path == STANDARD_OUTPUT:
        with TemporaryFile() as file:
            yield file
            file.seek(0)
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    try:
        with whole(path) as file:
            yield file
    except OSError as error:
        raise BadArgument(
            f"{path} cannot be written: {error.strerror or error}; name another file with --out"
        ) from error


def read_episodes(path: Path) -> Iterator[tuple[str, Trajectory | BadEpisode]]:
    """Every episode of a file with its place there, or what is wrong at that place. Raises BadArgument."""
    try:
        with path.open("rb") as file:
            is_parquet = file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
        if is_parquet:
            from planbook.trajectories.parquet import read_rows  # it takes a quarter of a second to import

            yield from read_rows(path)
        else:
            yield from read_lines(path)
    except BadEpisode as bad:
        yield "the file", bad
    except OSError as error:
        raise BadArgument(f"{path} cannot be read: {error.strerror or error}") from error


def sha256_of(path: Path) -> str:
    """Of a file's bytes. Raises BadArgument."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadArgument(f"{path} cannot be read: {error.strerror or error}") from error
