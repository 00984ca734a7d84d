"""planbook: agents that plan in Python and learn a manual.

The stable public interface is the functions ``run``, ``build`` and ``test``, which do what the commands do, and
``PlayedRun``, which they return. The engine is in the packages ``sandbox``, ``envs``, ``planner``, ``rules`` and
``manuals``, whose folders are next to this one in the repository. The ``__init__.py`` of each package imports its
public names.

The modules of this package put the engine's parts together:

- Input: each setting is declared once. ``config`` declares the settings that a run records, and ``settings`` adds
  those that only a command takes, such as ``--split``. ``options`` declares, validates and describes single options;
  ``commands`` turns them into command-line options, and ``api`` into keyword arguments. ``cli`` loads the commands.
- Runs on disk: ``runs`` creates and opens the folder of a run. Its ``store`` holds the events, from which ``spending``
  computes the cost. ``inputs`` records digests of everything that the run depends on. Before a run begins,
  ``preflight`` checks whether it has everything it needs; before it is resumed, ``preflight`` checks what has changed.
- Playing and learning: ``workers`` play episodes with the ``knowledge`` from earlier runs, and ``learning`` learns from
  episodes. ``replay`` plays recorded episodes again, and ``reruns`` reads runs that repeat others; both use
  ``divergence`` to compare an episode with its repetition. The command `graph`, which runs prompt graphs without an
  environment, is in ``commands``; the engine that runs graphs is in ``planner``.
- Results: ``results`` computes the results of a run, ``compare`` compares runs with each other, and ``papers`` compares
  runs with published results.
- Output: ``terminal`` prints, ``report`` writes an HTML page, ``watch_server`` shows a run in the browser while it
  is played, ``export`` writes files for other programs, and ``mcp_server`` offers an environment to MCP clients.
  ``wording`` formats numbers, outcomes and events as text; ``atomic_files`` writes files atomically; ``console``
  defines the consoles for standard output and standard error.
- ``errors`` defines the errors and exit codes of the command line.

Imports go in one direction only: ``pyproject.toml`` declares the order of the modules, and a test checks it.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any


def lazy_getattr(package: str) -> Callable[[str], Any]:
    """Return a module-level ``__getattr__`` for a package that imports its public names under ``if TYPE_CHECKING``.

    Type checkers and readers see plain imports. At run time, these imports are skipped; ``__getattr__`` imports a
    module when one of its names is first used. It also computes ``__all__``, the list of these names.
    """

    def load(name: str) -> Any:
        if name == "__all__":
            return sorted(_modules_by_name(package))
        module = _modules_by_name(package).get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(module), name)
        except AttributeError as error:  # without this, `from package import name` would hide the failing module
            raise ImportError(f"{package}.{name}: {module} cannot be imported: {error}", name=module) from error
        setattr(sys.modules[package], name, value)
        return value

    return load


@cache
def _modules_by_name(package: str) -> dict[str, str]:
    """Return a dict that maps each name imported for type checkers to its module."""
    import ast  # not at the top: sandbox workers import this module, but never call this function
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


if TYPE_CHECKING:  # `X as X` tells type checkers that X is public
    from planbook.api import PlayedRun as PlayedRun, build as build, run as run, test as test
else:
    __getattr__ = lazy_getattr(__name__)

PACKAGES = ("envs", "manuals", "planner", "rules", "sandbox")
__version__ = "0.2.0"
