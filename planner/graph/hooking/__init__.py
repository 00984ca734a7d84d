"""Hooks: Python functions, named in a graph file, that do what the file format cannot express.

A node of a graph can have three hooks:

- ``compose(ComposeContext) -> str`` returns the text above the node's prompt. It replaces the answers of the nodes in
  ``after``.
- ``check(answer, database) -> answer`` validates the node's answer, and may return a changed one. If it raises
  ValueError, such as ``AnswerRejected``, the message goes back to the model.
- ``finish(FinishContext) -> None`` is called after the answer. It may change the database and the rest of the pass.

The hooks ``compose`` and ``check`` can only read the database, since several nodes may be asked at the same time.

A graph file names a user's hook as ``FILE.py:function``, with a path relative to the graph file. The hooks that come
with planbook are in the modules of this package, and are named ``module.function``:

- ``crafter``: the hooks of the Crafter agent's graph.
- ``shopping``: the hooks of the shopping agent's graph.

Both keep a history of the episode in the database, with one entry per step.
"""

import ast
import importlib
import pkgutil
import runpy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from planbook.envs import import_error
from planbook.planner.agent import AGENT
from planbook.planner.errors import GraphError
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.node import GraphNode
from planbook.planner.graph.template_syntax import suggestion
from planbook.planner.graph.templating import value_text
from planbook.sandbox import Fault, parse

Hooks = Mapping[str, Callable[..., Any]]
"""Maps the names of hooks in a graph file to their functions."""


class AnswerRejected(ValueError):
    """Raised by a check hook to reject an answer. The message goes back to the model, which may repair the answer."""


@dataclass(frozen=True)
class ComposeContext:
    """The argument of a compose hook."""

    node: GraphNode
    """The node that will be asked."""
    database: GraphDatabase
    """A read-only view of the database."""
    answers: Mapping[str, JsonValue]
    """Maps the nodes that were evaluated in this pass to their answers."""
    number: int
    """Number of the pass, from 0."""


@dataclass(frozen=True)
class FinishContext:
    """The argument of a finish hook. The hook may change the database and make temporary edits to the graph."""

    node: GraphNode
    """The node that has answered."""
    answer: JsonValue
    answers: Mapping[str, JsonValue]
    """Maps the nodes that were evaluated in this pass to their answers."""
    database: GraphDatabase
    graph: Graph
    number: int
    """Number of the pass, from 0."""


def call_hook(hooks: Hooks, name: str, *arguments: Any, reraised: type[Exception] = GraphError) -> Any:
    """Call a hook and return its result.

    A GraphError from the hook, or an error of type ``reraised``, is raised unchanged. Any other error becomes a
    GraphError that names the hook.
    """
    try:
        return hooks[name](*arguments)
    except (GraphError, reraised):
        raise
    except Exception as error:
        advice = "; only a `check` hook sends its message to the model" if isinstance(error, AnswerRejected) else ""
        raise GraphError(f"the hook {name} failed: {type(error).__name__}: {error}{advice}") from error


def find_hook(name: str, folder: Path) -> Callable[..., Any]:
    """Return the hook with that name, which must exist (see ``hook_problem``).

    If it is in a file (relative to ``folder``), the file is executed. Raises GraphError if this fails.
    """
    file, colon, function = name.rpartition(":")
    if colon:
        try:
            hook: Callable[..., Any] = runpy.run_path(str(folder / file))[function]
        except Exception as error:
            raise GraphError(f"{name}: {file} failed when it was run: {import_error(error)}") from error
        return hook
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(f"{__name__}.{module}"), function)  # type: ignore[no-any-return]


def hook_problem(name: str, folder: Path) -> str:
    """Return the reason why there is no hook with that name, or "" if there is one. Files are read, not executed."""
    file, colon, function = name.rpartition(":")
    if colon:
        return _file_problem(folder / file, file, function)
    module, dot, function = name.rpartition(".")
    names = [module_info.name for module_info in pkgutil.iter_modules(__path__)]
    if not dot or module not in names:
        known = ", ".join(sorted(names)) or "none"
        advice = f"Write FILE.py:function, or MODULE.function with one of the modules: {known}"
        return f"there is no hook {name}{suggestion(module, names)} {advice}"
    return _missing_function(name, function, _functions(vars(importlib.import_module(f"{__name__}.{module}"))))


def _functions(members: Mapping[str, Any]) -> list[str]:
    return [name for name, member in members.items() if callable(member) and not name.startswith("_")]


def _file_problem(path: Path, file: str, function: str) -> str:
    if not file.endswith(".py"):
        return f"{file}:{function} is not a hook; write FILE.py:function"
    try:
        functions = _functions_in(path.read_bytes())
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}; give its path relative to the graph file"
    except (SyntaxError, ValueError) as error:
        return f"{file} cannot be parsed: {error}"
    return _missing_function(file, function, functions)


@lru_cache(maxsize=8)  # many hooks may be in one file
def _functions_in(code: bytes) -> list[str]:
    return [part.name for part in ast.parse(code).body if isinstance(part, ast.FunctionDef)]


def _missing_function(where: str, function: str, known: list[str]) -> str:
    return "" if function in known else f"{where}: there is no function {function}{suggestion(function, known)}"


# Functions that hooks share.


def keep_answer_as(field: str) -> Callable[[FinishContext], None]:
    """Return a finish hook that stores the answer as a field of the current step's history entry."""

    def finish(context: FinishContext) -> None:
        add_history(context.database, current_step(context.database), **{field: str(context.answer)})

    return finish


def answers_text(names: Sequence[str], answers: Mapping[str, JsonValue]) -> str:
    """Return the answers of the named nodes, each under a heading, as in a question without a compose hook."""
    return "\n\n".join(f"### {name}\n{value_text(answers[name])}" for name in names if name in answers)


MAX_CODE = 10_000
"""``calls_in`` ignores code with more characters than this. Its time may grow with the square of the length, since the
source of a call contains the calls inside it.
"""


def calls_in(code: str) -> list[str]:
    """Return the source of each call of a method of ``agent``.

    Return an empty list if the code cannot be parsed, has more than MAX_CODE characters or is nested too deeply.
    """
    tree = parse(code[: MAX_CODE + 1])
    if isinstance(tree, Fault) or len(code) > MAX_CODE:
        return []
    with suppress(RecursionError):
        return _calls_in(tree)
    return []


def _calls_in(tree: ast.Module) -> list[str]:
    return [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_agent_method(node.func)]


def _is_agent_method(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == AGENT


# The history of an episode.

HISTORY, STEP = "history", "step.number"


def add_history(database: GraphDatabase, step: int, **fields: str) -> None:
    """Add fields to the history entry of a step. If the step has no entry yet, the entry is created."""
    history = history_of(database)
    if not history or history[-1]["step"] < step:
        history.append({"step": step})
    for entry in history:
        if entry["step"] == step:
            entry.update(fields)
    database.set(HISTORY, list(history))


def history_of(database: GraphDatabase) -> list[dict[str, Any]]:
    """Return the history entries of all steps so far. The oldest comes first."""
    history: Any = database.get(HISTORY) if database.has(HISTORY) else []
    return list(history)


def current_step(database: GraphDatabase) -> int:
    """Return the number of the current step, from 0."""
    number: Any = database.get(STEP) if database.has(STEP) else 0
    return int(number)


def history_text(history: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> str:
    """Return history entries as text, one on each line.

    The text calls each step a turn, since games have steps, too. ``labels`` maps the fields, in the order shown,
    to their labels.
    """
    return "\n".join(_turn(entry, labels) for entry in history) or "There are no earlier turns."


def _turn(entry: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    fields = " ".join(f"{label}: {entry[key]}" for key, label in labels.items() if key in entry)
    return f"Turn {entry['step'] + 1}. {fields}"
