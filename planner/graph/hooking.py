"""Hooks: Python functions that a graph file names, for what cannot be written in the file.

``compose(Composing) -> str`` makes the text above the prompt, instead of the answers of ``after``;
``check(answer, database) -> answer`` validates an answer, and may return another: ``AfterQueryError`` goes back to the
model; ``finish(Finishing) -> None`` edits the database and the rest of the pass.
Compose and check only read the database: nodes may be asked side by side.
"""

import ast
import importlib
import pkgutil
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from planbook.envs import import_error
from planbook.planner.errors import GraphError
from planbook.planner.graph import hooks as shipped
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.node import GraphNode
from planbook.planner.graph.templating import nearest

Hooks = Mapping[str, Callable[..., Any]]
"""Functions by the names that nodes have for them."""


class AfterQueryError(ValueError):
    """Raised by a check hook: the message goes back to the model, which is asked again."""


@dataclass(frozen=True)
class Composing:
    """The argument of a compose hook: the database to read, the answers of this pass so far, and its number."""

    node: GraphNode
    database: GraphDatabase
    answers: Mapping[str, JsonValue]
    number: int


@dataclass(frozen=True)
class Finishing:
    """The argument of a finish hook, which may change the database and make temporary edits of the graph."""

    node: GraphNode
    answer: JsonValue
    answers: Mapping[str, JsonValue]
    database: GraphDatabase
    graph: Graph
    number: int


def call(hooks: Hooks, name: str, *given: Any) -> Any:
    """Call a hook. Raises GraphError where it fails; a ValueError is left to the caller."""
    try:
        return hooks[name](*given)
    except (GraphError, ValueError):
        raise
    except Exception as error:
        raise GraphError(f"the hook {name} failed: {type(error).__name__}: {error}") from error


def find_hook(name: str, folder: Path) -> Callable[..., Any]:
    """Return the function of that name; files are relative to the folder, and executed. Raises GraphError."""
    if problem := hook_problem(name, folder):
        raise GraphError(problem)
    file, colon, function = name.rpartition(":")
    if colon:
        try:
            found: Callable[..., Any] = runpy.run_path(str(folder / file))[function]
        except Exception as error:
            raise GraphError(f"{name}: {file} failed while it was read: {import_error(error)}") from error
        return found
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(f"{shipped.__name__}.{module}"), function)  # type: ignore[no-any-return]


def hook_problem(name: str, folder: Path) -> str:
    """Return what is wrong with the name of a hook, or nothing. Files are read, not executed."""
    file, colon, function = name.rpartition(":")
    if colon:
        return _file_problem(folder / file, file, function)
    module, dot, function = name.rpartition(".")
    modules = [each.name for each in pkgutil.iter_modules(shipped.__path__)]
    if not dot or module not in modules:
        known = ", ".join(sorted(modules)) or "none"
        return f"there is no hook {name}{nearest(module, modules)} Write FILE.py:function, or one of a module: {known}"
    return _missing(name, function, _functions(vars(importlib.import_module(f"{shipped.__name__}.{module}"))))


def _functions(members: Mapping[str, Any]) -> list[str]:
    return [name for name, member in members.items() if callable(member) and not name.startswith("_")]


def _file_problem(path: Path, file: str, function: str) -> str:
    if not file.endswith(".py"):
        return f"{file}:{function} is not a hook; write FILE.py:function"
    try:
        tree = ast.parse(path.read_bytes())
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}; the file is looked for beside the graph file"
    except (SyntaxError, ValueError) as error:
        return f"{file} cannot be parsed: {error}"
    return _missing(file, function, [each.name for each in tree.body if isinstance(each, ast.FunctionDef)])


def _missing(where: str, function: str, known: list[str]) -> str:
    return "" if function in known else f"{where}: there is no function {function}{nearest(function, known)}"
