"""Python files of the user's own, such as an environment or a planning method."""

import sys
from functools import cache
from pathlib import Path
from types import ModuleType


class CannotLoad(Exception):
    """A Python file that was named is not there, or fails while it is imported."""


@cache
def module_of(path: Path) -> ModuleType:
    """Return the module of a file, executed once a process. It may import modules beside it. Raises CannotLoad."""
    if not path.is_file():
        raise CannotLoad(f"no file {path}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # at the end: what is installed goes first
    module = ModuleType(f"planbook_own_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(
            compile(path.read_bytes(), path, "exec"), vars(module)
        )  # no bytecode cache: it may be edited at any moment
    except (Exception, SystemExit) as error:
        raise CannotLoad(f"{path} failed while it was imported: {type(error).__name__}: {error}") from error
    return module
