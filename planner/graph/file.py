"""A graph as a YAML file: read, checked as a whole, and refused with all its faults and their lines.

The format is described in the docstring of ``planbook.planner.graph``.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from planbook.envs import FileFault, Where, YamlFile, read_yaml
from planbook.planner.errors import BadGraphFile
from planbook.planner.graph.checks import faults_of
from planbook.planner.graph.hooking import find_hook
from planbook.planner.graph.node import BaseNode, EachLoop, GraphFile, GraphNode, IfBranch
from planbook.planner.graph.templating import nearest

SHIPPED_GRAPHS = Path(__file__).parents[1] / "graphs"
"""The folder of the graphs that ship."""
OLD = """\
this is the format of planbook 0.1, which is not read any more. Look-ups and conditions are Jinja now: \
$db.plan$ is {{ db.plan }}, $db.plan|none yet$ is {{ db.plan | default("none yet") }}, $item$ of a loop is {{ item }}, \
and when: {gate.replan: "yes"} is when: gate.replan == "yes" (`planbook graph format` has everything)"""
_OLD_LOOK_UP = re.compile(r"\$db(\.[\w-]+)*(\|[^$\n]*)?\$")
_JINJA = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_ROUNDS = 20
"""How often faulty parts are left out so that the rest can be checked."""


def graph_path(name: str) -> Path:
    """Return the file of a graph: a path, or the name of one that ships. Raises BadGraphFile."""
    path, shipped = Path(name), SHIPPED_GRAPHS / f"{name}.yaml"
    if path.is_file():
        return path
    if shipped.is_file():
        return shipped
    names = ", ".join(sorted(each.stem for each in SHIPPED_GRAPHS.glob("*.yaml"))) or "none"
    raise BadGraphFile(f"there is no graph {name}; name a YAML file, or one that ships: {names}")


def read_graph(path: Path) -> GraphFile:
    """Return the graph of a file. Raises BadGraphFile: every fault, each as ``FILE:LINE: where: what to do``."""
    return graph_of(graph_text(path), path)


def graph_text(path: Path) -> str:
    """Return the text of a graph file. Raises BadGraphFile."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadGraphFile(f"{path} cannot be read as a graph: {error}") from error


def graph_of(text: str, path: Path) -> GraphFile:
    """Return the graph of a text that stands, or will stand, in that file. Raises BadGraphFile."""
    file, faults = _examined(text, path)
    if faults or file is None:
        raise BadGraphFile("\n".join(f"{path}:{fault}" for fault in faults))
    hooks = dict.fromkeys(hook for node in file.every_node for hook in node.hooks.values())
    file._hooks = {name: find_hook(name, path.parent) for name in hooks}
    return file


def graph_faults(text: str, path: Path) -> list[FileFault]:
    """Return everything that is wrong with the text of a graph file, by line; no hook is executed."""
    return _examined(text, path)[1]


def _examined(text: str, path: Path) -> tuple[GraphFile | None, list[FileFault]]:
    read = read_yaml(text)
    if isinstance(read, list):
        return None, read
    if not isinstance(read.value, dict):
        return None, [FileFault(1, "", "a graph file is a mapping; it begins with `nodes:`")]
    if old := next(_old_parts(read.value), None):
        return None, [read.fault(old, OLD)]
    file, faults = _validated(read, path.stem)
    if file is not None:
        faults += [read.fault(*found) for found in faults_of(file, path.parent, whole=not faults)]
    return file, sorted(set(faults))


def _old_parts(value: Any, where: Where = ()) -> Iterator[Where]:
    """Yield the places of prompts and conditions in the format of planbook 0.1."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        is_look_up = key == "prompt" and isinstance(each, str) and _OLD_LOOK_UP.search(_JINJA.sub("", each))
        if where[:1] == ("nodes",) and (is_look_up or (key == "when" and isinstance(each, dict))):
            yield (*where, key)
        yield from _old_parts(each, (*where, key))


def _validated(read: YamlFile, name: str) -> tuple[GraphFile | None, list[FileFault]]:
    """Return the file with all that pydantic finds wrong with it; faulty parts are left out of what is returned."""
    value: Any = {**deepcopy(read.value), "name": name}
    faults: dict[FileFault, None] = {}
    if "name" in read.value:
        faults[read.fault(("name",), "there is no such key; a graph is named after its file")] = None
    for _ in range(_ROUNDS):
        try:
            return GraphFile.model_validate(value), list(faults)
        except ValidationError as error:
            for each in error.errors():
                where = tuple(part for part in each["loc"] if part != "[key]")
                faults.setdefault(read.fault(where, _message(each, where)))
                _leave_out(value, where)
    return None, list(faults)


def _leave_out(value: Any, where: Where) -> None:
    """Remove a faulty part; what has to be there gets a stand-in."""
    *around, last = where or ("nodes",)
    for key in around:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(value, dict):
        value.pop(last, None)
        if last in _STAND_INS:
            value[last] = deepcopy(_STAND_INS[str(last)])
    elif isinstance(value, list) and isinstance(last, int):
        value[last] = {}


_STAND_INS: Mapping[str, Any] = {
    "prompt": "?",
    "when": "true",
    "in": "answer",
    "expect": "any",
    "node": {"prompt": "?"},
    "nodes": {"unreadable": {"prompt": "?"}},
}


def _message(error: Any, where: Where) -> str:
    """Return what is wrong, in the words of somebody who writes a file and not a program."""
    kind, last = error["type"], where[-1] if where else "graph"
    if kind == "extra_forbidden":
        known = [field.alias or name for name, field in _model_at(where[:-1]).model_fields.items() if name != "name"]
        return f"there is no such key{nearest(str(last), known)} There are {', '.join(known)}"
    if kind == "value_error":
        return str(error["ctx"]["error"])
    return str(_MESSAGES.get(kind, error["msg"]))


def _model_at(where: Where) -> type[BaseModel]:
    """Return the model of a place of the file."""
    model: type[BaseModel] = GraphFile
    for key in where:
        model = _MODELS.get(str(key), model)
    return model


_MODELS: Mapping[str, type[BaseModel]] = {"if": IfBranch, "each": EachLoop, "nodes": GraphNode, "node": BaseNode}
_MESSAGES = {
    "missing": "this has to be given",
    "is_instance_of": "this must be a text; put it in quotes, or begin it with | and go on in the next line",
    "string_type": "this must be a text; put it in quotes, or begin it with | and go on in the next line",
    "dict_type": "this must be a mapping: names, each with a colon and what it means",
    "model_type": "this must be a mapping: names, each with a colon and what it means",
    "model_attributes_type": "this must be a mapping: names, each with a colon and what it means",
    "tuple_type": "this must be a list: [a, b], or a line with a dash for each",
    "int_type": "this must be a whole number",
    "int_parsing": "this must be a whole number",
    "greater_than_equal": "this must be 1 or more",
    "too_short": "it is empty; at least one node is needed",
}
