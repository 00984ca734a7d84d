"""The database of a graph: JSON values by dotted path, shared by all nodes and kept from one pass to the next.

For the hooks of agents: the steps of an episode as a graph keeps them, and the calls of actions in plan code.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
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


def json_value(value: JsonValue, what: str) -> JsonValue:
    """Return the value unchanged. Raises GraphError for one that JSON does not have."""
    try:
        _JSON.validate_python(value, strict=True)
    except ValidationError as error:
        raise GraphError(f"{what}: {error.errors()[0]['msg']}; only values of JSON can be kept") from error
    return value


def at(value: JsonValue, path: str) -> JsonValue:
    """Return the part of a value at a dotted path, items of lists by number. Raises KeyError with the missing part."""
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
    found: list[str] = []
    for key, each in value.items() if isinstance(value, dict) else ():
        path = f"{before}.{key}".lstrip(".")
        found += [path, *paths_of(each, path)]
    return found


class GraphDatabase:
    """Values go in and come out as copies, so that only its methods change what is stored.

    Hooks may use keys of any text in the mappings that they store; paths only reach plain names.
    """

    def __init__(self, values: Mapping[str, JsonValue] | None = None) -> None:
        self._values: dict[str, JsonValue] = deepcopy(dict(values or {}))
        self._locked = False
        self.written: dict[str, None] = {}
        """The paths that were changed, in order, since this was last emptied."""

    def view(self) -> "GraphDatabase":
        """Return the same values, to read only: for hooks that may run side by side."""
        view = GraphDatabase()
        view._values, view._locked = self._values, True
        return view

    def get(self, path: str) -> JsonValue:
        """Return the value at a path. Raises GraphError that names the nearest path that exists."""
        try:
            return deepcopy(at(self._values, _checked(path)))
        except KeyError:
            raise GraphError(f"the database has nothing at {path}{nearest(path, paths_of(self._values))}") from None

    def has(self, path: str) -> bool:
        """Return whether anything is stored there, None and empty texts included."""
        try:
            at(self._values, path)
        except KeyError:
            return False
        return True

    def set(self, path: str, value: JsonValue) -> None:
        """Store a value; mappings on the way are made. Raises GraphError where something else is in the way."""
        place, last = self._place(path)
        place[last] = deepcopy(json_value(value, path))

    def append(self, path: str, value: JsonValue) -> None:
        """Add to the end of a list, which is made if it does not exist. Raises GraphError where there is no list."""
        place, last = self._place(path)
        items = place.setdefault(last, [])
        if not isinstance(items, list):
            raise GraphError(f"{path} of the database is not a list, so that nothing can be added to it")
        items.append(deepcopy(json_value(value, path)))

    def values(self) -> dict[str, JsonValue]:
        """Return a copy of everything."""
        return deepcopy(self._values)

    @property
    def root(self) -> dict[str, JsonValue]:
        """The values themselves, for templates, which cannot change them."""
        return self._values

    def _place(self, path: str) -> tuple[dict[str, JsonValue], str]:
        """Return the mapping that holds the end of a path, and its name there."""
        if self._locked:
            raise GraphError(f"{path} cannot be changed here: only a finish hook and `store` change the database")
        *way, last = _checked(path).split(".")
        place = self._values
        for number, name in enumerate(way):
            inner = place.setdefault(name, {})
            if not isinstance(inner, dict):
                there = ".".join(way[: number + 1])
                raise GraphError(f"{path} cannot be stored: {there} of the database is a value, not a group of values")
            place = inner
        self.written[path] = None
        return place, last


def _checked(path: str) -> str:
    if not PATH.fullmatch(path):
        raise GraphError(f"{path!r} is not a path of the database; write names with dots between them: plan.goal")
    return path


HISTORY, STEP = "history", "step.number"


def note(database: GraphDatabase, step: int, **said: str) -> None:
    """Add to what is kept of a step."""
    kept = steps(database)
    if not kept or kept[-1]["step"] < step:
        kept.append({"step": step})
    for entry in kept:
        if entry["step"] == step:
            entry.update(said)
    database.set(HISTORY, list(kept))


def steps(database: GraphDatabase) -> list[dict[str, Any]]:
    """Return what is kept of every step so far, the oldest first."""
    kept: Any = database.get(HISTORY) if database.has(HISTORY) else []
    return list(kept)


def now(database: GraphDatabase) -> int:
    """Return the number of the present step, from 0."""
    number: Any = database.get(STEP) if database.has(STEP) else 0
    return int(number)


def table(kept: Sequence[Mapping[str, Any]], line: Callable[[Mapping[str, Any]], str]) -> str:
    """Return steps as text, a line each. They are called turns: games may count steps of their own."""
    return "\n".join(f"Turn {entry['step'] + 1}. {line(entry)}" for entry in kept) or "There are no earlier turns."


def answers_told(names: Sequence[str], answers: Mapping[str, JsonValue]) -> str:
    """Return the answers of these nodes under headings, as in a prompt that no hook composes."""
    return "\n\n".join(f"### {name}\n{value_text(answers[name])}" for name in names if name in answers)


def calls_in(code: str) -> list[str]:
    """Return the calls of ``agent`` as they are written, in order; none of code that cannot be parsed."""
    tree = parse(code)
    if isinstance(tree, Fault):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _of_agent(node.func)]
    return [ast.unparse(call) for call in found]


def _of_agent(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == AGENT
