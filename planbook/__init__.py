"""planbook: agents that plan in Python and learn a manual.

The stable public interface is the functions ``run``, ``build`` and ``test``, which do what the commands do, and
``PlayedRun``, which they return. The engine is in the packages ``sandbox``, ``envs``, ``planner``, ``rules`` and
``manuals``, whose folders are beside this one in the repository; each lists its public names in ``__all__``.

This package puts the parts together.

- Input: each setting is declared once, as a field in ``config`` or ``settings``. ``options`` and ``option_values`` turn
  these fields into command-line options; ``api`` turns them into keyword arguments. ``cli`` loads and calls the
  ``commands``.
- Runs on disk: ``runs`` creates and opens the folder of a run. Its ``store`` holds the events, from which ``spending``
  computes the cost. ``inputs`` records digests of everything that the run depends on. ``preflight`` checks what a run
  needs before it begins, and what has changed before it is resumed.
- Playing and learning: ``workers`` play episodes with the ``knowledge`` from earlier runs, ``learning`` learns from
  episodes, ``replay`` plays recorded episodes again and compares the results, ``graphs`` runs prompt graphs without an
  environment.
- Results: ``results`` computes them, ``compare`` compares runs, ``papers`` compares runs with publications.
- Output: ``terminal`` prints, ``report`` writes an HTML page, ``watching`` shows a run in the browser while it is
  played, ``export`` writes files for other programs, and ``serving`` offers an environment to MCP clients. ``wording``
  formats numbers, outcomes and events as text; ``writing`` writes files atomically; ``console`` has the consoles.
- ``errors`` defines the errors and exit codes of the command line.

Imports go in one direction only: ``pyproject.toml`` declares the order of the modules, and a test checks it.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any


def lazy_getattr(package: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package that imports its public names under ``if TYPE_CHECKING``.

    Type checkers and readers see plain imports. At run time, a module is imported when one of its names is first used.
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
    """Return a dict that maps each name imported for type checkers to its module."""
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
    __getattr__ = lazy_getattr(__name__)

__all__ = ["PlayedRun", "build", "run", "test"]

PACKAGES = ("envs", "manuals", "planner", "rules", "sandbox")
__version__ = "0.2.0"
