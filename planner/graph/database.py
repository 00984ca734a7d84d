"""The database of a graph: JSON values by dotted path, shared by all nodes and kept from one pass to the next.

It also has functions for the hooks of agents: the history of an episode's steps, and the calls in plan code.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError

from planbook.planner.agent import AGENT
from planbook.planner.errors import GraphError
from planbook.planner.graph.templating import nearest, value_text
from planbook.sandbox import Fault, parse

_SEGMENT = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
PATH = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*")
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def json_value(value: JsonValue, source: str) -> JsonValue:
    """Return the value unchanged. Raises GraphError if JSON has no such value; ``source`` begins the message."""
    try:
        _JSON.validate_python(value, strict=True)
    except ValidationError as error:
        raise GraphError(f"{source}: {error.errors()[0]['msg']}; only JSON values can be stored") from error
    return value


def part_at(value: JsonValue, path: str) -> JsonValue:
    """Return the part of a value at a dotted path; list items are numbered. Raises KeyError with the missing name."""
    for segment in filter(None, path.split(".")):
        if isinstance(value, dict) and segment in value:
            value = value[segment]
        elif isinstance(value, list) and segment.isdecimal() and int(segment) < len(value):
            value = value[int(segment)]
        else:
            raise KeyError(segment)
    return value


def paths_of(value: JsonValue, before: str = "") -> list[str]:
    """Return every path of a value, parents first."""
    paths: list[str] = []
    for key, inner in value.items() if isinstance(value, dict) else ():
        path = f"{before}.{key}".lstrip(".")
        paths += [path, *paths_of(inner, path)]
    return paths


class GraphDatabase:
    """The values of a graph. They are copied in and out, so that only methods can change them.

    Hooks may store mappings with any keys; paths only reach plain names.
    """

    def __init__(self, values: Mapping[str, JsonValue] | None = None) -> None:
        self._values: dict[str, JsonValue] = deepcopy(dict(values or {}))
        self._locked = False
        self.written: dict[str, None] = {}
        """The paths changed since this was last cleared, in order."""

    def view(self) -> "GraphDatabase":
        """Return a read-only view of the values, for hooks that may run concurrently."""
        view = GraphDatabase()
        view._values, view._locked = self._values, True
        return view

    def get(self, path: str) -> JsonValue:
        """Return the value at a path. Raises a GraphError that names the nearest existing path."""
        try:
            return deepcopy(part_at(self._values, _check_path(path)))
        except KeyError:
            raise GraphError(f"the database has nothing at {path}{nearest(path, paths_of(self._values))}") from None

    def has(self, path: str) -> bool:
        """Return True if any value is stored there, None and empty texts included."""
        try:
            part_at(self._values, path)
        except KeyError:
            return False
        return True

    def set(self, path: str, value: JsonValue) -> None:
        """Store a value, and create the mappings on its path. Raises GraphError if another value is in the way."""
        place, last = self._place(path)
        place[last] = deepcopy(json_value(value, path))

    def append(self, path: str, value: JsonValue) -> None:
        """Append to a list, which is created if needed. Raises GraphError if the value at the path is not a list."""
        place, last = self._place(path)
        items = place.setdefault(last, [])
        if not isinstance(items, list):
            raise GraphError(f"{path} of the database is not a list, so nothing can be appended to it")
        items.append(deepcopy(json_value(value, path)))

    def values(self) -> dict[str, JsonValue]:
        """Return a copy of everything."""
        return deepcopy(self._values)

    @property
    def root(self) -> dict[str, JsonValue]:
        """The values themselves, for templates, which cannot change them."""
        return self._values

    def _place(self, path: str) -> tuple[dict[str, JsonValue], str]:
        """Return the mapping that holds the last name of a path, and that name. Missing mappings are created."""
        if self._locked:
            raise GraphError(f"{path} cannot be changed here: only a finish hook and `store` change the database")
        *parents, last = _check_path(path).split(".")
        place = self._values
        for number, name in enumerate(parents):
            inner = place.setdefault(name, {})
            if not isinstance(inner, dict):
                parent = ".".join(parents[: number + 1])
                raise GraphError(f"{path} cannot be stored: {parent} of the database is a value, not a group of values")
            place = inner
        self.written[path] = None
        return place, last


def _check_path(path: str) -> str:
    if not PATH.fullmatch(path):
        raise GraphError(f"{path!r} is not a path of the database; write names with dots between them: plan.goal")
    return path


HISTORY, STEP = "history", "step.number"


def note(database: GraphDatabase, step: int, **fields: str) -> None:
    """Add fields to the history entry of a step."""
    history = steps(database)
    if not history or history[-1]["step"] < step:
        history.append({"step": step})
    for entry in history:
        if entry["step"] == step:
            entry.update(fields)
    database.set(HISTORY, list(history))


def steps(database: GraphDatabase) -> list[dict[str, Any]]:
    """Return the history entries of all steps so far, the oldest first."""
    history: Any = database.get(HISTORY) if database.has(HISTORY) else []
    return list(history)


def current_step(database: GraphDatabase) -> int:
    """Return the number of the current step, from 0."""
    number: Any = database.get(STEP) if database.has(STEP) else 0
    return int(number)


def table(history: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> str:
    """Return history entries as text, one on each line. They are called turns, since games count steps, too.

    ``labels`` holds the label of each field to show, in order.
    """
    return "\n".join(_turn(entry, labels) for entry in history) or "There are no earlier turns."


def _turn(entry: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    shown = " ".join(f"{label}: {entry[key]}" for key, label in labels.items() if key in entry)
    return f"Turn {entry['step'] + 1}. {shown}"


def answers_text(names: Sequence[str], answers: Mapping[str, JsonValue]) -> str:
    """Return the answers of these nodes under headings, as in a prompt without a compose hook."""
    return "\n\n".join(f"### {name}\n{value_text(answers[name])}" for name in names if name in answers)


def calls_in(code: str) -> list[str]:
    """Return the source of each call of a method of ``agent``; an empty list if the code cannot be parsed."""
    tree = parse(code)
    if isinstance(tree, Fault):
        return []
    return [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_of_agent(node.func)]


def _is_of_agent(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == AGENT
