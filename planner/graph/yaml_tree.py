"""YAML as plain values with the lines they stand in. Anchors, tags and keys that stand twice are refused.

An alias repeats what it names, so that a short file can mean a value of any size; a tag can name any Python object.
Neither is needed to write a graph.
"""

from collections.abc import Iterator
from io import StringIO
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, NodeEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Where = tuple[str | int, ...]
"""The keys and numbers that lead to a place of the file."""
DEEPEST = 30
"""Values inside one another."""
LONGEST = 1_000_000
"""Characters of a file."""
_PREFIX = "tag:yaml.org,2002:"
_BOOLEANS = {"true": True, "false": False}


class Fault(NamedTuple):
    """One thing that is wrong with a file. Lines count from 1; ``where`` is a dotted place, empty for the whole."""

    line: int
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.where + ': ' if self.where else ''}{self.message}"


class YamlTree(NamedTuple):
    """A file's value, the line of each place, and what is wrong already."""

    value: Any
    lines: dict[Where, int]
    faults: list[Fault]

    def line(self, where: Where) -> int:
        """The line of a place, or of the nearest place around it that is there."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where, 1)


def read_tree(text: str) -> YamlTree:
    """The tree of a text; where it cannot be read at all, the value is None and the faults say why."""
    if len(text) > LONGEST:
        return YamlTree(None, {}, [Fault(1, "", f"the file has {len(text):,} characters; {LONGEST:,} are enough")])
    try:
        if refused := list(_refused(text)):
            return YamlTree(None, {}, refused)
        node = _yaml().compose(StringIO(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = " ".join(filter(None, (error.context, error.problem)))
        return YamlTree(None, {}, [Fault(mark.line + 1 if mark else 1, "", f"this is no YAML: {why}")])
    except (YAMLError, ValueError) as error:
        return YamlTree(None, {}, [Fault(1, "", f"this is no YAML: {str(error).splitlines()[0]}")])
    if node is None:
        return YamlTree(None, {}, [Fault(1, "", "the file is empty")])
    tree = YamlTree(None, {(): 1}, [])
    return tree._replace(value=_plain(node, (), tree))


def _yaml() -> YAML:
    return YAML(typ="safe", pure=True)


def _refused(text: str) -> Iterator[Fault]:
    """What is no part of a graph file, from the events alone: nothing is built yet."""
    depth, documents = 0, 0
    for event in _yaml().parse(StringIO(text)):
        line = event.start_mark.line + 1
        documents += isinstance(event, DocumentStartEvent)
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEEPEST:
            yield Fault(line, "", f"values are more than {DEEPEST} levels deep here")
            return
        if documents > 1:
            yield Fault(line, "", "a second document begins here; write one graph to a file")
            return
        if isinstance(event, AliasEvent):
            yield Fault(line, "", f"*{event.anchor} repeats a value; write it out")
        elif isinstance(event, NodeEvent) and event.anchor:
            yield Fault(line, "", f"&{event.anchor} names a value to be repeated; write it out where it is needed")
        elif getattr(event, "ctag", None) is not None and event.ctag:
            yield Fault(line, "", f"the tag {event.ctag} is not taken; write plain texts, numbers, lists and mappings")


def _plain(node: Node, where: Where, tree: YamlTree) -> Any:
    tree.lines.setdefault(where, node.start_mark.line + 1)
    if isinstance(node, SequenceNode):
        return [_plain(each, (*where, number), tree) for number, each in enumerate(node.value)]
    if isinstance(node, MappingNode):
        return _mapping(node, where, tree)
    assert isinstance(node, ScalarNode)
    return _scalar((node.tag or "").removeprefix(_PREFIX), node.value)


def _mapping(node: MappingNode, where: Where, tree: YamlTree) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, ScalarNode):
            tree.faults.append(Fault(line, dotted(where), "a name must be a text, not a list or a mapping"))
            continue
        name = key.value
        if name in found:
            first = tree.lines[(*where, name)]
            tree.faults.append(Fault(line, dotted((*where, name)), f"{name} stands in line {first} already"))
            continue
        tree.lines[(*where, name)] = line
        found[name] = _plain(value, (*where, name), tree)
    return found


def _scalar(tag: str, text: str) -> Any:
    """A text, a number, true, false or nothing: yes and no are texts, and so is a date."""
    if tag == "null":
        return None
    if tag == "bool":
        return _BOOLEANS.get(text.lower(), text)
    try:
        if tag == "int":
            return int(text.replace("_", ""), 0 if text.lower().lstrip("+-").startswith(("0x", "0o")) else 10)
        return _finite(float(text.replace("_", ""))) if tag == "float" else text
    except ValueError:
        return text


def _finite(number: float) -> float:
    if number in (float("inf"), float("-inf")) or number != number:
        raise ValueError("no number of JSON")
    return number


def dotted(where: Where) -> str:
    """A place as it is told: nodes.plan.after[2]."""
    told = ""
    for each in where:
        told += f"[{each + 1}]" if isinstance(each, int) else f".{each}" if told else each
    return told
