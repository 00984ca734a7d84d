"""Python files of the user's own, such as an environment or a planning method."""

import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from planbook import PACKAGES


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
        raise CannotLoad(f"{path} failed while it was imported: {told(error)}") from error
    return module


def told(error: BaseException) -> str:
    """Return an import's error in a line, with the new name of a package that was planbook's own before 0.2."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    renamed = f". Since 0.2, planbook's {name} is imported as planbook.{name}" if name in PACKAGES else ""
    return f"{type(error).__name__}: {error}{renamed}"
