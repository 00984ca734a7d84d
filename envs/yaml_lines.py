"""Read YAML as plain values, and find the line of each value. Anchors, aliases and tags are refused.

They are not safe: an alias repeats a value, so that a short file could expand to any size, and a tag can name any
Python object. The files that planbook reads (graphs of prompts, task files) need neither.
"""

from collections.abc import Iterator
from io import StringIO
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, NodeEvent

YamlPath = tuple[str | int, ...]
"""The keys and indices that lead to a value in the file."""
MAX_DEPTH = 30
"""Maximum number of nested levels."""
MAX_CHARACTERS = 1_000_000
"""Maximum number of characters in a file."""


class FileFault(NamedTuple):
    """One fault in a file."""

    line: int
    """Counted from 1."""
    where: str
    """The path to the faulty value, such as ``nodes.plan.after[2]``. Empty for the whole file."""
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.where + ': ' if self.where else ''}{self.message}"


class YamlFile(NamedTuple):
    """The value of a file."""

    value: Any
    """The value as plain data, which JSON can hold."""
    marked: Any
    """The value as ruamel reads it, with line numbers."""

    def line(self, path: YamlPath) -> int:
        """Return the line of the value at a path, or of the closest value around it if there is none."""
        value, line = self.marked, 1
        for key in path:
            if isinstance(value, CommentedMap) and key in value:
                line = value.lc.key(key)[0] + 1
            elif isinstance(value, CommentedSeq) and isinstance(key, int) and key < len(value):
                line = value.lc.item(key)[0] + 1
            else:
                break
            value = value[key]
        return int(line)

    def fault(self, path: YamlPath, message: str) -> FileFault:
        """Return a fault of the value at a path."""
        return FileFault(self.line(path), dotted(path), message)


def read_yaml(text: str) -> YamlFile | list[FileFault]:
    """Return the value of a YAML text, or its faults if it cannot be read."""
    if len(text) > MAX_CHARACTERS:
        return [FileFault(1, "", f"the file has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed")]
    try:
        if refused := list(_refused_parts(text)):
            return refused
        marked = YAML(typ="rt").load(StringIO(text))
        return [FileFault(1, "", "the file is empty")] if marked is None else YamlFile(_plain(marked), marked)
    except DuplicateKeyError as error:
        name, mark = str(error.problem).partition('"')[2].partition('"')[0], error.problem_mark
        return [FileFault(mark.line + 1 if mark else 1, "", f"{name} is used twice; leave one out, or rename it")]
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(filter(None, (error.context, error.problem)))
        return [FileFault(mark.line + 1 if mark else 1, "", f"this is not YAML: {reason}")]
    except (YAMLError, ValueError, LookupError) as error:
        return [FileFault(1, "", f"this is not YAML: {str(error).splitlines()[0]}")]


def _refused_parts(text: str) -> Iterator[FileFault]:
    """Yield a fault for each part that is refused. It needs only the parser's events, so no value is built."""
    depth, documents = 0, 0
    for event in YAML(typ="safe", pure=True).parse(StringIO(text)):
        line = event.start_mark.line + 1
        documents += isinstance(event, DocumentStartEvent)
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH or documents > 1:
            too_deep = f"values are more than {MAX_DEPTH} levels deep here"
            yield FileFault(line, "", too_deep if depth > MAX_DEPTH else _ONE_DOCUMENT)
            return
        if isinstance(event, AliasEvent):
            yield FileFault(line, "", f"*{event.anchor} repeats a value; write it out")
        elif isinstance(event, NodeEvent) and event.anchor:
            yield FileFault(line, "", f"&{event.anchor} names a value to be repeated; write it out where it is needed")
        elif getattr(event, "ctag", None) is not None and event.ctag:
            yield FileFault(
                line, "", f"the tag {event.ctag} is not allowed; write plain texts, numbers, lists and mappings"
            )


_ONE_DOCUMENT = "a second document begins here; write one to a file"


def _plain(value: Any) -> Any:
    """Return a value as plain data. Values that JSON does not have, such as dates and infinity, become strings."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and abs(value) < float("inf"):
        return float(value)
    return str(value)


def dotted(path: YamlPath) -> str:
    """Return a path as messages show it, with indices from 1, such as ``nodes.plan.after[2]``."""
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
