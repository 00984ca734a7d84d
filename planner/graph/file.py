"""A graph as a YAML file: read, checked as a whole, and refused with all its faults and their lines.

The format is described in the docstring of ``planbook.planner.graph``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from planbook.envs import FileFault, Where, read_yaml
from planbook.planner.errors import BadGraphFile
from planbook.planner.graph.checks import faults_of
from planbook.planner.graph.hooking import find_hook
from planbook.planner.graph.node import BaseNode, EachLoop, GraphFile, GraphNode, IfBranch
from planbook.planner.graph.templating import nearest

SHIPPED_GRAPHS = Path(__file__).parents[1] / "graphs"
"""The folder of the graphs that ship."""


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
    """Return the graph and its faults: those of its form, and once there is none of these, those of its meaning."""
    read = read_yaml(text)
    if isinstance(read, list):
        return None, read
    if not isinstance(read.value, dict):
        return None, [FileFault(1, "", "a graph file is a mapping; it begins with `nodes:`")]
    if "name" in read.value:
        return None, [read.fault(("name",), "there is no such key; a graph is named after its file")]
    try:
        file = GraphFile.model_validate({**read.value, "name": path.stem})
    except ValidationError as error:
        wrong = [(each, tuple(part for part in each["loc"] if part != "[key]")) for each in error.errors()]
        return None, sorted({read.fault(where, _message(each, where)) for each, where in wrong})
    return file, sorted({read.fault(*found) for found in faults_of(file, path.parent)})


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
