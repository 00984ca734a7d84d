"""The public API is documented, and its examples are correct."""

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard, get_type_hints

import pytest

import planbook.planner
from tests.pages import ROOT

SUBPACKAGES = "sandbox envs planner rules manuals".split()
SURFACES = ("planbook", *(f"planbook.{name}" for name in SUBPACKAGES))
FOLDERS = ("sandbox", "envs", "planner", "rules", "manuals", "planbook/api.py")
PROTOCOLS = {"Journal": ("get", "put"), "Memory": ("recall",), "Model": ("complete",), "Strategy": ("__call__",)}


def public(surface: str, name: str) -> Any:
    """Return a public object."""
    return getattr(importlib.import_module(surface), name)


@cache
def documented_names() -> frozenset[str]:
    """Return the names of assignments that have a docstring."""
    return frozenset(_assigned())


def _assigned() -> Iterator[str]:
    for folder in FOLDERS:
        files = [ROOT / folder] if folder.endswith(".py") else (ROOT / folder).rglob("*.py")
        for file in files:
            body = ast.parse(file.read_text(encoding="utf-8")).body
            for statement, below in pairwise(body):
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
                )
                text = below.value if isinstance(below, ast.Expr) else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield from (node.id for target in targets if target for node in ast.walk(target) if is_name(node))


def is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    """Return whether a node is a name."""
    return isinstance(node, ast.Name)


def is_documented(function: Any) -> bool:
    """Return whether a method or property has a docstring. Anything else counts as documented."""
    function = getattr(function, "__func__", getattr(function, "fget", function))
    function = function.func if isinstance(function, cached_property) else function
    return not inspect.isfunction(function) or function.__name__ == "<lambda>" or bool(function.__doc__)


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public members that a class itself defines, except for the defaults of its fields."""
    fields = getattr(cls, "__dataclass_fields__", {})
    yield from ((name, value) for name, value in vars(cls).items() if not name.startswith("_") and name not in fields)


def undocumented(surface: str) -> Iterator[str]:
    """Yield the public names of a package that are not documented, including members of its classes."""
    for name in importlib.import_module(surface).__all__:
        found = public(surface, name)
        if isinstance(found, ModuleType):
            continue
        if inspect.isclass(found) and found.__name__ == name:
            text = found.__dict__.get("__doc__") or ""
            if not text or text.startswith(f"{name}("):
                yield name
            yield from (f"{name}.{member}" for member, value in members(found) if not is_documented(value))
        elif not (inspect.isfunction(inspect.unwrap(found)) and found.__doc__) and name not in documented_names():
            yield name


def test_every_public_name_is_documented() -> None:
    assert {surface: names for surface in SURFACES if (names := list(undocumented(surface)))} == {}


@pytest.mark.parametrize("surface", SURFACES)
def test_examples_in_docstrings_are_correct(surface: str) -> None:
    printed: list[str] = []
    for name in importlib.import_module(surface).__all__:
        found = public(surface, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            names = dict(vars(importlib.import_module(found.__module__)))
            for case in doctest.DocTestFinder(recurse=False).find(found, name, globs=names):
                doctest.DocTestRunner(verbose=False).run(case, out=printed.append)
    assert not printed, "".join(printed)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_help_of_a_protocol_shows_signatures_and_types(name: str) -> None:
    protocol = getattr(planbook.planner, name)
    for method in PROTOCOLS[name]:
        function = getattr(protocol, method)
        assert function.__doc__
        assert get_type_hints(function)
        assert "kwargs" not in str(inspect.signature(function))


def test_the_page_of_the_api_names_only_public_names() -> None:
    page = Path(ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for full in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
        surface, name = full.rsplit(".", 1)
        assert surface == "planbook.api" or name in importlib.import_module(surface).__all__, full
    assert "## What is stable" in page
