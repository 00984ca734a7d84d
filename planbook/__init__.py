"""planbook: agents that plan in Python and learn a manual.

The stable public interface is the functions ``run``, ``build`` and ``test``, which do what the commands do, and
``PlayedRun``, which they return. The engine is in the packages ``sandbox``, ``envs``, ``planner``, ``rules`` and
``manuals``, whose folders are beside this one in the repository; each lists its public names in ``__all__``.

This package puts the parts together.

- Input: the fields of ``config`` and ``settings`` are the options of the command line (``options``,
  ``option_values``), the keyword arguments of the ``api``, and what a run records. ``cli`` loads the ``commands``.
- Runs on disk: ``runs`` are folders, each with a ``store`` of events, its ``spending`` and its ``inputs``.
  ``resuming`` compares the inputs before a run is resumed or repeated.
- Playing and learning: ``workers`` play episodes with the ``knowledge`` of the run, ``replay`` plays them again,
  ``learning`` learns from them, ``graphs`` runs prompt graphs alone.
- Results: ``results`` computes them; ``compare`` compares runs, ``papers`` compares them with publications.
- Output: the ``terminal``, the page of ``report``, the browser during the run (``watching``), and files for other
  programs (``export``). ``wording`` formats figures, outcomes and events; ``writing`` writes files, ``console`` prints.
- ``errors`` defines the errors and exit codes of the command line. ``lazily`` loads a package's modules on demand.

Imports go one way: ``pyproject.toml`` has the order, and a test checks it.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any


def lazily(package: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose public names are imported below ``if TYPE_CHECKING``.

    Type checkers and readers see plain imports. At run time, each module is imported when one of its names is first
    used.
    """

    def load(name: str) -> Any:
        module = _modules_by_name(package).get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(module), name)
        except AttributeError as error:  # else `from package import name` would only say that the name is missing
            raise ImportError(f"{package}.{name}: {module} cannot be imported: {error}", name=module) from error
        setattr(sys.modules[package], name, value)
        return value

    return load


@cache
def _modules_by_name(package: str) -> dict[str, str]:
    """Return the module of each name that is imported for type checkers."""
    import ast  # sandbox workers use none of these names, and so skip this import
    from pathlib import Path

    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))
    return {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


if TYPE_CHECKING:
    from planbook.api import PlayedRun, build, run, test
else:
    __getattr__ = lazily(__name__)

__all__ = ["PlayedRun", "build", "run", "test"]

PACKAGES = ("envs", "manuals", "planner", "rules", "sandbox")
__version__ = "0.2.0"
