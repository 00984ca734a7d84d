"""Read YAML as plain values, and find the line of each value. Anchors, aliases and tags are refused.

Anchors and aliases (``&name`` and ``*name``) repeat a value, so that a short file could expand to any size. A tag
(``!name``) could create any Python object. The files that planbook reads, graphs of prompts and lists of tasks, need
none of them.
"""

from collections.abc import Iterator, Mapping
from io import StringIO
from math import isfinite
from typing import Any, NamedTuple

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.nodes import ScalarNode

YamlPath = tuple[str | int, ...]
"""The path of a value in a file: the keys and indices that lead to it."""
MAX_DEPTH = 30
"""Maximum number of nested levels."""
MAX_INTEGER = 2**63 - 1
"""The largest integer. The smallest is its opposite. Not every program that reads JSON can hold others."""
MAX_DIGITS = 100
"""Maximum number of characters in an integer."""
MAX_CHARACTERS = 1_000_000
"""Maximum number of characters in a file."""


class FileFault(NamedTuple):
    """One fault in a file."""

    line: int
    """The number of the line, counted from 1."""
    where: str
    """The path of the faulty value, such as ``nodes.plan.after[2]``. Empty if the fault concerns the whole file."""
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.where + ': ' if self.where else ''}{self.message}"


class YamlFile(NamedTuple):
    """The content of a YAML file."""

    value: Any
    """The content as plain data that JSON can represent."""
    lines: Mapping[YamlPath, int]
    """Maps the path of each value to its line."""

    def line(self, path: YamlPath) -> int:
        """Return the line of the value at a path.

        If the file has no value there, return the line of the innermost value on the path that exists.
        """
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]

    def fault(self, path: YamlPath, message: str) -> FileFault:
        """Return a fault in the value at a path."""
        return FileFault(self.line(path), dotted(path), message)


def read_yaml(text: str, max_values: int | None = None) -> YamlFile | list[FileFault]:
    """Return the content of a YAML text, or its faults if it cannot be read.

    ``max_values`` limits the number of keys and values. The limit of characters alone would not limit the time, because
    a key or value takes much longer to read than a character.
    """
    if len(text) > MAX_CHARACTERS:
        return [FileFault(1, "", f"the file has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")]
    reader = _LineReader(text, max_values)
    try:
        value = reader.read()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(filter(None, (error.context, error.problem)))
        return [FileFault(mark.line + 1 if mark else 1, "", f"this is not YAML: {reason}")]
    except (YAMLError, ValueError, LookupError) as error:
        return [FileFault(1, "", f"this is not YAML: {str(error).splitlines()[0]}")]
    if value is None and not reader.faults:
        return [FileFault(1, "", "the file is empty")]
    return reader.faults or YamlFile(value, reader.lines)


class _LimitExceeded(Exception):
    """The file exceeds a limit, so the remaining text is not read. The fault is already recorded."""


class _LineReader:
    """Builds a value from the events of ruamel's parser, and records the line of each key and item."""

    def __init__(self, text: str, max_values: int | None) -> None:
        self._yaml, self._max_values, self._count = YAML(typ="safe", pure=True), max_values, 0
        self._events: Iterator[Any] = self._yaml.parse(StringIO(text))
        self.lines: dict[YamlPath, int] = {(): 1}
        self.faults: list[FileFault] = []
        self._repeats = False

    def read(self) -> Any:
        """Return the value of the file's only document. Stop at a second document, or if the file exceeds a limit."""
        value, documents = None, 0
        for event in self._events:
            documents += isinstance(event, DocumentStartEvent)
            if documents > 1:
                self._refuse(event, "a second document begins here; a file may contain only one")
                break
            if isinstance(event, NodeEvent):
                try:
                    value = self._value(event, ())
                except _LimitExceeded:
                    break
        return value

    def _value(self, event: Any, path: YamlPath) -> Any:
        self._count += 1
        if self._max_values is not None and self._count > self._max_values:
            self._refuse(event, f"the file has more than {self._max_values:,} keys and values")
            raise _LimitExceeded
        if event.anchor and not self._repeats:  # one fault for all, since they occur together
            self._refuse(
                event,
                f"anchors and aliases (&{event.anchor} and *{event.anchor}) are not allowed; "
                "write each value out where it is needed",
            )
            self._repeats = True
        if isinstance(event, AliasEvent):
            return None
        if event.ctag:
            self._refuse(event, f"the tag {event.ctag} is not allowed; use plain strings, numbers, lists and mappings")
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if len(path) >= MAX_DEPTH:
            self._refuse(event, f"values are more than {MAX_DEPTH} levels deep here")
            raise _LimitExceeded
        return self._list(path) if isinstance(event, SequenceStartEvent) else self._mapping(path)

    def _list(self, path: YamlPath) -> list[Any]:
        items: list[Any] = []
        for event in self._until_end():
            where = (*path, len(items))
            self.lines[where] = event.start_mark.line + 1
            items.append(self._value(event, where))
        return items

    def _mapping(self, path: YamlPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for event in self._until_end():
            key = self._value(event, (*path, ""))
            if isinstance(event, CollectionStartEvent):
                self._refuse(event, "a key must be a string; put it in quotes if it begins with { or [", path)
            name = str(key)
            if name in mapping:
                self._refuse(event, f"{name} is used twice; leave one out, or rename it")
            self.lines[*path, name] = event.start_mark.line + 1
            mapping[name] = self._value(next(self._events), (*path, name))
        return mapping

    def _until_end(self) -> Iterator[Any]:
        """Yield the first event of each item of a list, or of each key of a mapping, until the list or mapping ends.

        Before it asks for the next event, the caller must read the other events of the item, or of the key and its
        value.
        """
        while not isinstance(event := next(self._events), CollectionEndEvent):
            yield event

    def _scalar(self, event: ScalarEvent) -> JsonValue:
        """Return the value of a scalar. Values that JSON lacks, such as dates and infinity, become strings."""
        tag = str(self._yaml.resolver.resolve(ScalarNode, event.value, event.implicit))
        if tag.rpartition(":")[2] not in ("null", "bool", "int", "float"):
            return str(event.value)
        is_integer = tag.endswith(":int")
        is_long = is_integer and len(event.value) > MAX_DIGITS
        value: Any = None if is_long else self._yaml.constructor.construct_object(ScalarNode(tag, event.value))
        if is_long or (is_integer and abs(value) > MAX_INTEGER):
            self._refuse(event, "this integer is too large; put it in quotes if it is a text")
        return str(value) if isinstance(value, float) and not isfinite(value) else value

    def _refuse(self, event: Any, problem: str, path: YamlPath = ()) -> None:
        self.faults.append(FileFault(event.start_mark.line + 1, dotted(path), problem))


def dotted(path: YamlPath) -> str:
    """Return a path in the form that messages use, with indices counted from 1, such as ``nodes.plan.after[2]``."""
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
