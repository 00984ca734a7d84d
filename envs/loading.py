"""Python files of the user's own, such as an environment or a planning method."""

import sys
from functools import cache
from pathlib import Path
from types import ModuleType

OWN = "planbook_own_"
"""Begins the names of modules that were loaded from a file."""


class CannotLoad(Exception):
    """A Python file that was named is not there, or fails while it is imported."""


@cache
def module_of(path: Path) -> ModuleType:
    """Return the module of a file, executed once a process. It may import modules beside it. Raises CannotLoad."""
    if not path.is_file():
        raise CannotLoad(f"no file {path}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # at the end: what is installed goes first
    module = ModuleType(f"{OWN}{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(
            compile(path.read_bytes(), path, "exec"), vars(module)
        )  # no bytecode cache: it may be edited at any moment
    except (Exception, SystemExit) as error:
        raise CannotLoad(f"{path} failed while it was imported: {type(error).__name__}: {error}") from error
    return module


def source_files(module: str) -> dict[str, Path]:
    """Return the files of the code that is loaded with a module, by name: those beside its file, or of its package."""
    files = {name: Path(file) for name, each in [*sys.modules.items()] if (file := getattr(each, "__file__", None))}
    own = files.get(module)
    if own is None:
        return {}
    if module.startswith(OWN):
        loaded = {own, *(file for file in files.values() if own.parent in file.parents)}
        return {str(file.relative_to(own.parent)): file for file in sorted(loaded)}
    top = module.partition(".")[0]
    return {name: file for name, file in sorted(files.items()) if name == top or name.startswith(f"{top}.")}
