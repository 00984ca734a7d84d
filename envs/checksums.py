"""What the data of a world are, in a digest: so that a run can say what it was played on, and notice a change."""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from planbook.envs.errors import MissingRequirement

_KNOWN_FILES = 50_000
"""Digests that a process remembers, by path, time and size: reading them again would cost as much as a run."""
_NOT_DATA = ("__pycache__",)


def of_file(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. Raises MissingRequirement where it cannot be read."""
    try:
        seen = path.stat()
        return _of_file(str(path), seen.st_mtime_ns, seen.st_size, seen.st_ino)
    except OSError as error:
        raise MissingRequirement(
            f"{path} cannot be read: {error.strerror}; put it back, or install it again"
        ) from error


@lru_cache(maxsize=_KNOWN_FILES)
def _of_file(path: str, changed: int, size: int, node: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_texts(texts: Iterable[str]) -> str:
    """One digest of several texts: it tells their order, and where each ends."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return whole.hexdigest()


def of_files(paths: Iterable[Path]) -> str:
    """One digest of the contents of files, wherever they lie and in whichever order they are given."""
    return of_texts(sorted(map(of_file, paths)))


def of_folder(folder: Path, patterns: Sequence[str] = ("*",)) -> str:
    """One digest of the names and contents of a folder's files, and of those of the folders in it."""
    found = {path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()}
    kept = sorted(path for path in found if not set(path.parts) & set(_NOT_DATA))
    return of_texts(text for path in kept for text in (path.relative_to(folder).as_posix(), of_file(path)))
