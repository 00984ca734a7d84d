"""The packages that worlds are made of."""

from importlib.util import find_spec
from pathlib import Path


def folder_of(package: str) -> Path | None:
    """Where a package is, or None. Nothing of it is imported: that takes seconds, and one of them makes folders."""
    spec = find_spec(package)
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    return Path(folder) if folder else None
