"""planbook: agents that plan in Python and learn a manual.

Public and stable are the functions ``run``, ``build`` and ``test``, which do what the commands do, and ``PlayedRun``,
which they return. The engine is in the packages ``sandbox``, ``envs``, ``planner``, ``rules`` and ``manuals``, whose
folders stand beside this one in the repository; each lists its public names in ``__all__``.

This package puts the parts together.

- What is asked: the fields of ``config`` and ``settings`` are the options of the command line (``options``,
  ``option_values``), the keyword arguments of the ``api``, and what a run records. ``cli`` and ``command_line`` parse
  and call ``commands``.
- What comes of it: a folder of ``runs``, with its ``store`` of events, its ``spending`` and its ``inputs``;
  ``resuming`` compares these before it is continued or repeated.
- Who does it: ``workers`` play with the ``knowledge`` that there is, ``replay`` plays again, ``learning`` learns from
  episodes, ``graphs`` runs prompt graphs alone.
- What it comes to: ``results``; ``compare`` compares runs, ``papers`` compares them with publications.
- Who sees it: the ``terminal``, the page of ``report``, the browser during the run (``watching``), and other programs
  (``export``). ``wording`` formats figures and outcomes; ``writing`` writes files, ``console`` prints.
- ``errors`` are what the command line reports. ``lazily`` loads a package's modules when a name is first used.

Imports go one way: ``pyproject.toml`` has the order, and a test checks it.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any


def lazily(package: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose public names are imported below ``if TYPE_CHECKING``.

    Type checkers and readers see plain imports; at run time each happens when its name is first asked for.
    """

    def load(name: str) -> Any:
        place = _places(package).get(name)
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(place), name)
        except AttributeError as error:  # `from package import name` would tell it as a missing name
            raise ImportError(f"{package}.{name}: {place} cannot be imported: {error}", name=place) from error
        setattr(sys.modules[package], name, value)
        return value

    return load


@cache
def _places(package: str) -> dict[str, str]:
    """Return the module of each name that is imported for type checkers."""
    import ast  # not in a worker of the sandbox, which asks for no name
    from pathlib import Path

    tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))
    return {
        each.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }


if TYPE_CHECKING:
    from planbook.api import PlayedRun, build, run, test
else:
    __getattr__ = lazily(__name__)

__all__ = ["PlayedRun", "build", "run", "test"]

PACKAGES = ("envs", "manuals", "planner", "rules", "sandbox")
__version__ = "0.2.0"
