"""A graph file that is being made: written as a whole after every change, so that nothing that was answered is lost."""

from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from planbook.errors import BadArgument
from planbook.planner.graph import file_faults
from planbook.writing import write_whole

WIDE = 110
"""Columns from which on a text gets a block of its own."""


class Sheet:
    """The file's content; comments of a file that was there already are kept."""

    def __init__(self, path: Path) -> None:
        """Raises BadArgument for a file that is there and has faults."""
        self.path = path
        self.existed = path.exists()
        self._content: Any = self._read() if self.existed else CommentedMap(nodes=CommentedMap())

    @property
    def nodes(self) -> dict[str, Any]:
        """The nodes so far, by name."""
        return dict(self._content["nodes"])

    @property
    def inputs(self) -> list[str]:
        """The paths that whoever runs the graph gives."""
        return list(self._content.get("inputs") or ())

    @property
    def has_code(self) -> bool:
        """Whether it is said which node writes plan code."""
        return "code" in self._content

    @property
    def text(self) -> str:
        """The file as it is written."""
        return _told(self._content)

    def problems(self, name: str, node: dict[str, Any]) -> list[str]:
        """What would be wrong with the file if it had this node, in words without lines."""
        nodes = {**self._content["nodes"], name: _nice(node)}
        text = _told({**self._content, "nodes": nodes})
        return [fault.message for fault in file_faults(text, self.path)]

    def describe(self, about: str) -> None:
        """Say what the graph is for."""
        self._content.insert(0, "about", _nice(about))

    def add_input(self, path: str, what: str) -> None:
        """Say what whoever runs the graph gives it."""
        if "inputs" not in self._content:
            self._content.insert(1 if "about" in self._content else 0, "inputs", CommentedMap())
        self._content["inputs"][path] = _nice(what)
        self.write()

    def add_node(self, name: str, node: dict[str, Any], *, code: bool) -> None:
        """Add a node at the end, and say so if it writes the plan code of a step."""
        self._content["nodes"][name] = _nice(node)
        if code:
            self._content["code"] = name
        self.write()

    def write(self) -> None:
        """Write the file, whole or not at all; a graph without nodes is none yet. Raises BadArgument."""
        if not self._content["nodes"]:
            return
        try:
            write_whole(self.path, self.text)
        except OSError as error:
            raise BadArgument(f"{self.path} cannot be written: {error.strerror}; name another file") from error

    def _read(self) -> Any:
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise BadArgument(f"{self.path} cannot be read as a graph: {error}; name another file") from error
        if faults := file_faults(text, self.path):
            raise BadArgument(f"{self.path}:{faults[0]}; mend it first: `planbook graph check` tells everything")
        return _yaml().load(text)


def _yaml() -> YAML:
    yaml = YAML()
    yaml.width = WIDE
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _told(content: Any) -> str:
    told = StringIO()
    _yaml().dump(content, told)
    return told.getvalue()


def _nice(value: Any) -> Any:
    """The value as a person would write it: long texts in blocks, lists in one line."""
    if isinstance(value, str):
        if "\n" in value or len(value) > WIDE:
            return LiteralScalarString(value.rstrip() + "\n")
        return DoubleQuotedScalarString(value) if value in ("yes", "no") else value
    if isinstance(value, dict):
        return CommentedMap({key: _nice(each) for key, each in value.items()})
    if isinstance(value, list):
        nice = CommentedSeq(map(_nice, value))
        nice.fa.set_flow_style()
        return nice
    return value
