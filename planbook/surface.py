"""Surfaces of packages that load a module when one of its public names is first used."""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


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
