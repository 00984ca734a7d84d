"""The database of a prompt graph, which stores JSON values at dotted paths such as ``plan.goal``.

All nodes share the database, and the next pass over the graph can read the values that this pass has stored.
"""

import re
from collections.abc import Mapping
from copy import deepcopy

from pydantic import JsonValue, TypeAdapter, ValidationError

from planbook.planner.errors import GraphError
from planbook.planner.graph.template_syntax import suggestion

_SEGMENT = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
PATH = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT}){{0,29}}")
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def checked_json(value: JsonValue, source: str) -> JsonValue:
    """Return the value if it is valid JSON. Otherwise raise GraphError with ``source`` in the message."""
    try:
        _JSON.validate_python(value, strict=True)
    except ValidationError as error:
        raise GraphError(f"{source}: {error.errors()[0]['msg']}; only JSON values can be stored") from error
    return value


def part_at(value: JsonValue, path: str) -> JsonValue:
    """Return the part of a value at a dotted path. Items of lists are numbered from 0, as in ``plan.steps.0``.

    Raises KeyError with the first name on the path that does not exist.
    """
    for segment in filter(None, path.split(".")):
        if isinstance(value, dict) and segment in value:
            value = value[segment]
        elif isinstance(value, list) and segment.isdecimal() and int(segment) < len(value):
            value = value[int(segment)]
        else:
            raise KeyError(segment)
    return value


def paths_of(value: JsonValue, prefix: str = "") -> list[str]:
    """Return the paths of all parts of a value, except parts of lists. ``plan`` comes before ``plan.goal``."""
    paths: list[str] = []
    for key, inner in value.items() if isinstance(value, dict) else ():
        path = f"{prefix}.{key}".lstrip(".")
        paths += [path, *paths_of(inner, path)]
    return paths


def paths_overlap(first: str, second: str) -> bool:
    """Return True if the paths are equal, or if one is below the other, such as ``plan.goal`` below ``plan``."""
    return f"{first}.".startswith(f"{second}.") or f"{second}.".startswith(f"{first}.")


class GraphDatabase:
    """The values of a graph. They are copied when they are stored or read, so only the methods can change them.

    A hook may store a mapping with any keys, but the keys in a path consist of letters, digits, ``_`` and ``-``.
    """

    def __init__(self, values: Mapping[str, JsonValue] | None = None) -> None:
        self._values: dict[str, JsonValue] = deepcopy(dict(values or {}))
        self._is_read_only = False
        self.changed_paths: dict[str, None] = {}
        """The paths whose values have changed since a caller last cleared this dict, in order of change."""

    def view(self) -> "GraphDatabase":
        """Return a read-only view of the values, for hooks that may run concurrently."""
        view = GraphDatabase()
        view._values, view._is_read_only = self._values, True
        return view

    def get(self, path: str) -> JsonValue:
        """Return the value at a path. If there is none, raise GraphError, and suggest a similar path."""
        try:
            return deepcopy(part_at(self._values, _check_path(path)))
        except KeyError:
            raise GraphError(f"the database has nothing at {path}{suggestion(path, paths_of(self._values))}") from None

    def has(self, path: str) -> bool:
        """Return True if a value is stored at the path. It may be None or an empty string."""
        try:
            part_at(self._values, path)
        except KeyError:
            return False
        return True

    def set(self, path: str, value: JsonValue) -> None:
        """Store a value at a path. Mappings on the way to the value are created if they are missing.

        Raises GraphError if a part of the path holds a value that is not a mapping, or if this is a read-only view.
        """
        mapping, key = self._mapping_for(path)
        mapping[key] = deepcopy(checked_json(value, path))

    def append(self, path: str, value: JsonValue) -> None:
        """Append a value to the list at a path. The list is created if needed.

        Raises GraphError if the value at the path is not a list, and in the same cases as ``set``.
        """
        mapping, key = self._mapping_for(path)
        items = mapping.setdefault(key, [])
        if not isinstance(items, list):
            raise GraphError(f"{path} in the database is not a list, so nothing can be appended to it")
        items.append(deepcopy(checked_json(value, path)))

    def values(self) -> dict[str, JsonValue]:
        """Return a copy of all values."""
        return deepcopy(self._values)

    @property
    def root(self) -> dict[str, JsonValue]:
        """All values, not copied. Use it only for templates and expressions, which cannot change the values."""
        return self._values

    def _mapping_for(self, path: str) -> tuple[dict[str, JsonValue], str]:
        """Return the mapping that holds the value at a path, and the value's key. Missing mappings are created."""
        if self._is_read_only:
            raise GraphError(f"{path} cannot be changed here: only a finish hook and `store` change the database")
        *parents, key = _check_path(path).split(".")
        mapping = self._values
        for number, name in enumerate(parents):
            inner = mapping.setdefault(name, {})
            if not isinstance(inner, dict):
                parent = ".".join(parents[: number + 1])
                raise GraphError(f"{path} cannot be stored: {parent} in the database is a value, not a group of values")
            mapping = inner
        self.changed_paths[path] = None
        return mapping, key


def _check_path(path: str) -> str:
    if not PATH.fullmatch(path):
        raise GraphError(f"{path!r} is not a database path; write names separated by dots: plan.goal")
    return path
