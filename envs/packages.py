"""The packages that environments are made of: where they are, and the commands that install what is missing."""

import shlex
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from planbook.envs.errors import MissingRequirement


def folder_of(package: str) -> Path | None:
    """Where a package is, or None. Nothing of it is imported: that takes seconds, and one of them makes folders."""
    spec = find_spec(package)
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    return Path(folder) if folder else None


def version_of(package: str) -> str:
    """Return the version of a package, or "not installed"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def install(extra: str, *options: str, only: str | tuple[str, ...] = "") -> str:
    """Return the command that installs what an extra of planbook needs, or some packages of it.

    It names the packages, not the extra: no index has planbook itself.
    """
    needed = [each for each in _needed(extra) if each.startswith(only)]
    return f"{shlex.quote(sys.executable)} -m pip install {' '.join((*options, *map(shlex.quote, needed)))}"


def missing(extra: str, what: str) -> MissingRequirement:
    """Return the error for something that needs an extra."""
    return MissingRequirement(f"{what} needs packages that are not there; add them with: {install(extra)}")


def _needed(extra: str) -> Iterator[str]:
    for each in metadata.requires("planbook") or ():
        package, _, marker = each.partition(";")
        if marker.replace('"', "'").strip() == f"extra == '{extra}'":
            yield package.strip()
