"""Hooks: Python functions that a graph file names, to do what the file format cannot express.

- ``compose(Composing) -> str`` returns the text above the prompt, which replaces the answers of ``after``.
- ``check(answer, database) -> answer`` validates an answer, and may return another one. The message of a ValueError,
  such as ``AfterQueryError``, goes back to the model.
- ``finish(Finishing) -> None`` edits the database and the rest of the pass.

Compose and check hooks only read the database, since nodes may be asked concurrently.
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
from planbook.planner.graph.database import GraphDatabase, current_step, note
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.node import GraphNode
from planbook.planner.graph.templating import nearest

Hooks = Mapping[str, Callable[..., Any]]
"""Hook functions, by their names in the graph file."""


class AfterQueryError(ValueError):
    """A check hook rejects an answer. The message goes back to the model, which is asked again."""


@dataclass(frozen=True)
class Composing:
    """The argument of a compose hook: the node, the database, the answers so far in the pass, and its number."""

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


def keep_answer_as(field: str) -> Callable[[Finishing], None]:
    """Return a finish hook that stores the answer as a field of the current step's history entry."""

    def finish(finishing: Finishing) -> None:
        note(finishing.database, current_step(finishing.database), **{field: str(finishing.answer)})

    return finish


def call(hooks: Hooks, name: str, *arguments: Any, but: type[Exception] = GraphError) -> Any:
    """Call a hook. An error of type ``but`` passes through; any other becomes a GraphError that names the hook."""
    try:
        return hooks[name](*arguments)
    except (GraphError, but):
        raise
    except Exception as error:
        raise GraphError(f"the hook {name} failed: {type(error).__name__}: {error}") from error


def find_hook(name: str, folder: Path) -> Callable[..., Any]:
    """Return the function with that name, after executing its file. The file's path is relative to the folder.

    Raises GraphError.
    """
    if problem := hook_problem(name, folder):
        raise GraphError(problem)
    file, colon, function = name.rpartition(":")
    if colon:
        try:
            hook: Callable[..., Any] = runpy.run_path(str(folder / file))[function]
        except Exception as error:
            raise GraphError(f"{name}: {file} failed when it was run: {import_error(error)}") from error
        return hook
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(f"{shipped.__name__}.{module}"), function)  # type: ignore[no-any-return]


def hook_problem(name: str, folder: Path) -> str:
    """Return the problem with the name of a hook; empty if there is none. Files are read, not executed."""
    file, colon, function = name.rpartition(":")
    if colon:
        return _file_problem(folder / file, file, function)
    module, dot, function = name.rpartition(".")
    modules = [module_info.name for module_info in pkgutil.iter_modules(shipped.__path__)]
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
    return _missing(file, function, [part.name for part in tree.body if isinstance(part, ast.FunctionDef)])


def _missing(where: str, function: str, known: list[str]) -> str:
    return "" if function in known else f"{where}: there is no function {function}{nearest(function, known)}"
