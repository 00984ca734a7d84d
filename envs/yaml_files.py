"""Read YAML as plain values, and find the line of each value. Anchors, aliases and most tags are refused.

Anchors and aliases (``&name`` and ``*name``) repeat a value, so a short file could expand to any size. A tag
(``!name``) could create any Python object. The files that planbook reads (prompt graphs and task lists) need none of
these.
"""

from collections.abc import Mapping
from io import StringIO
from math import isfinite
from typing import Any, NamedTuple

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

YamlPath = tuple[str | int, ...]
"""The path of a value in a file: the keys and indices that lead to it."""
MAX_DEPTH = 30
"""Maximum number of nested levels."""
TAGS = ("bool", "float", "int", "map", "merge", "null", "seq", "str", "timestamp", "value")
"""The tags that values may have, implicit or written out as in ``!!str 5``. Other tags are refused."""
COLLECTIONS = {"map": MappingNode, "seq": SequenceNode}
"""Maps the tags of mappings and lists to the types of nodes that may have them. Other tags are for scalars."""
MAX_INTEGER = 2**63 - 1
"""The largest absolute value of an integer. Not every program that reads JSON can represent larger ones."""
MAX_DIGITS = 100
"""Maximum number of characters in an integer."""


class FileFault(NamedTuple):
    """One fault in a file."""

    line: int
    """The number of the line, counted from 1."""
    path: str
    """The path of the faulty value, such as ``nodes.plan.after[2]``. Empty if the fault concerns the whole file."""
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.path + ': ' if self.path else ''}{self.message}"


class YamlFile(NamedTuple):
    """The content of a YAML file."""

    value: Any
    """The content as plain data that JSON can represent."""
    lines: Mapping[YamlPath, int]
    """Maps the path of each value to its line."""

    def line(self, path: YamlPath) -> int:
        """Return the line of the value at a path.

        If the file has no value there, return the line of the innermost existing value on the path.
        """
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]

    def fault(self, path: YamlPath, message: str) -> FileFault:
        """Return a fault in the value at a path."""
        return FileFault(self.line(path), format_path(path), message)


def read_yaml(text: str, max_characters: int = 1_000_000) -> YamlFile | list[FileFault]:
    """Return the content of a YAML text, or its faults if it cannot be read."""
    if len(text) > max_characters:
        return [FileFault(1, "", f"the file has {len(text):,} characters; at most {max_characters:,} are allowed")]
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = MAX_DEPTH
    yaml.composer.warn_double_anchors = False
    reader = _NodeReader(yaml)
    try:
        node = yaml.compose(StringIO(text))
        if yaml.composer.anchors:
            return [_anchor_fault(yaml.composer.anchors)]
        value = reader.value(node, ()) if node else None
    except MaxDepthExceededError as error:
        return [FileFault(error.problem_mark.line + 1, "", f"values are more than {MAX_DEPTH} levels deep here")]
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(filter(None, (error.context, error.problem)))
        return [FileFault(mark.line + 1 if mark else 1, "", f"this is not YAML: {reason}")]
    except (YAMLError, ValueError, LookupError) as error:
        return [FileFault(1, "", f"this is not YAML: {str(error).splitlines()[0]}")]
    if value is None and not reader.faults:
        return [FileFault(1, "", "the file is empty")]
    return reader.faults or YamlFile(value, reader.lines)


def _anchor_fault(anchors: Mapping[str, Node]) -> FileFault:
    """Return one fault for all anchors and aliases of a file, since they occur together."""
    name, node = next(iter(anchors.items()))
    fault = f"anchors and aliases (&{name} and *{name}) are not allowed; write each value out where it is needed"
    return FileFault(node.start_mark.line + 1, "", fault)


class _NodeReader:
    """Builds values from the nodes of a file, and records the line of each key and item."""

    def __init__(self, yaml: YAML) -> None:
        self._yaml = yaml
        self.lines: dict[YamlPath, int] = {(): 1}
        self.faults: list[FileFault] = []

    def value(self, node: Node, path: YamlPath) -> Any:
        """Return the value of the node at a path."""
        tag = str(node.tag).removeprefix("tag:yaml.org,2002:")
        if tag not in TAGS:
            self._add_fault(node, f"the tag {node.tag} is not allowed; use plain strings, numbers, lists and mappings")
        elif not isinstance(node, COLLECTIONS.get(tag, ScalarNode)):
            self._add_fault(node, f"the tag !!{tag} does not fit this value; leave it out")
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        return self._list(node, path) if isinstance(node, SequenceNode) else self._scalar(node)

    def _list(self, node: SequenceNode, path: YamlPath) -> list[Any]:
        items: list[Any] = []
        for item in node.value:
            item_path = (*path, len(items))
            self.lines[item_path] = item.start_mark.line + 1
            items.append(self.value(item, item_path))
        return items

    def _mapping(self, node: MappingNode, path: YamlPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self._add_fault(key, "a key must be a string; put it in quotes if it begins with { or [", path)
            name = str(self.value(key, (*path, "")))
            if name in mapping:
                self._add_fault(key, f"{name} is used twice; leave one out, or rename it")
            self.lines[*path, name] = key.start_mark.line + 1
            mapping[name] = self.value(value, (*path, name))
        return mapping

    def _scalar(self, node: Node) -> JsonValue:
        """Return the value of a scalar. Values that JSON lacks, such as dates and infinity, become strings."""
        tag = str(node.tag).rpartition(":")[2]
        if tag not in ("null", "bool", "int", "float"):
            return str(node.value)
        is_long = tag == "int" and len(node.value) > MAX_DIGITS
        try:
            value: Any = None if is_long else self._yaml.constructor.construct_object(node)
        except (YAMLError, ValueError, LookupError):
            self._add_fault(node, f"this is not a valid {tag}")
            return None
        if is_long or (tag == "int" and abs(value) > MAX_INTEGER):
            self._add_fault(node, "this integer is too large; put it in quotes if it is text")
        return str(value) if isinstance(value, float) and not isfinite(value) else value

    def _add_fault(self, node: Node, problem: str, path: YamlPath = ()) -> None:
        self.faults.append(FileFault(node.start_mark.line + 1, format_path(path), problem))


def format_path(path: YamlPath) -> str:
    """Return a path in the form that messages use, with indices counted from 1, such as ``nodes.plan.after[2]``."""
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
