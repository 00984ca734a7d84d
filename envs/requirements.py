"""Find the packages that environments need, say how to install them, and compute digests of files."""

import hashlib
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from planbook.envs.errors import MissingRequirement
from planbook.envs.types import Requirement


def package_folder(package: str) -> Path | None:
    """Return the folder of a package, or None if it is not installed.

    The package is not imported, since that may be slow and have side effects.
    """
    spec = find_spec(package)
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    return Path(folder) if folder else None


def package_version(package: str) -> str:
    """Return the version of a package, or the words "not installed"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def install_command(extra: str, *options: str, prefixes: tuple[str, ...] = ("",)) -> str:
    """Return the command that installs the packages of one of planbook's extras.

    ``options`` are options of ``pip install``. If ``prefixes`` are given, the command installs only the packages whose
    names begin with one of them. The command lists packages rather than the extra, since planbook itself is not on
    a package index.
    """
    requirements = [requirement for requirement in _requirements_of(extra) if requirement.startswith(prefixes)]
    return f"{shlex.quote(sys.executable)} -m pip install {' '.join((*options, *map(shlex.quote, requirements)))}"


def missing_extra(extra: str, feature: str) -> MissingRequirement:
    """Return an error that says that a feature needs the packages of an extra, and how to install them."""
    return MissingRequirement(
        f"{feature} needs packages that are not installed; add them with: {install_command(extra)}"
    )


class RequiredPackage(NamedTuple):
    """A package that an environment needs. Finding it does not import it."""

    package: str
    extra: str
    """The extra of planbook that contains the package."""
    options: tuple[str, ...] = ()
    """Options for ``pip install``."""
    prefixes: tuple[str, ...] = ("",)
    """Only the extra's packages whose names begin with one of these prefixes are needed: by default, all."""

    @property
    def remedy(self) -> str:
        """The command that installs the package."""
        return install_command(self.extra, *self.options, prefixes=self.prefixes)

    def requirement(self, name: str) -> Requirement:
        """Return the package as a requirement called ``name``."""
        return Requirement(name, str(package_folder(self.package) or "") or None, self.remedy)

    def folder(self) -> Path:
        """Return the folder of the package. Raises MissingRequirement if it is not installed."""
        if (folder := package_folder(self.package)) is None:
            raise MissingRequirement(f"the package {self.package} is not installed; add it with: {self.remedy}")
        return folder


def _requirements_of(extra: str) -> Iterator[str]:
    for requirement in metadata.requires("planbook") or ():
        package, _, marker = requirement.partition(";")
        if marker.replace('"', "'").strip() == f"extra == '{extra}'":
            yield package.strip()


_MAX_CACHED_DIGESTS = 50_000
"""Maximum number of file digests that a process caches."""


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal. Raises MissingRequirement if it cannot be read."""
    try:
        status = path.stat()
        return _digest(str(path), status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError as error:
        raise MissingRequirement(f"{path} cannot be read: {error.strerror}; restore it, or install it again") from error


@lru_cache(maxsize=_MAX_CACHED_DIGESTS)
def _digest(path: str, mtime_ns: int, size: int, inode: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def texts_digest(texts: Iterable[str]) -> str:
    """Return one SHA-256 of several strings. It depends on their order, and on where one ends and the next begins."""
    combined = hashlib.sha256()
    for text in texts:
        combined.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return combined.hexdigest()


def files_digest(paths: Iterable[Path]) -> str:
    """Return one SHA-256 of the contents of files. It depends neither on their paths nor on their order."""
    return texts_digest(sorted(map(file_digest, paths)))


def folder_digest(folder: Path, patterns: Sequence[str] = ("*",)) -> str:
    """Return one SHA-256 of the paths and contents of the files in a folder and its subfolders.

    Only files whose names match one of ``patterns`` count. Files in ``__pycache__`` never count.
    """
    files = {path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()}
    paths = sorted(path for path in files if "__pycache__" not in path.parts)
    return texts_digest(text for path in paths for text in (path.relative_to(folder).as_posix(), file_digest(path)))
