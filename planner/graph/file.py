"""Read a prompt graph from a YAML file. If the file is faulty, the error lists all faults with their line numbers.

The page docs/graphs.md describes the format of the file.
"""

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from planbook.envs import FileFault, YamlFile, YamlPath, read_yaml
from planbook.planner.errors import BadGraphFile
from planbook.planner.graph.checks import check_file
from planbook.planner.graph.hooking import find_hook
from planbook.planner.graph.node import BaseNode, EachLoop, GraphFile, GraphNode, IfBranch
from planbook.planner.graph.template_syntax import suggestion

SHIPPED_GRAPHS = Path(__file__).parent / "shipped"
"""The folder of the graphs that come with planbook."""
_MAX_CHARACTERS = 50_000
"""Maximum number of characters in a graph file. A file of this size is read in about a second."""
_MAX_FAULTS = 100
"""Maximum number of faults that an error lists."""
_MAX_VALIDATIONS = 20
"""Maximum number of validations of a file.

After each validation, the faulty parts are removed, and the rest is validated again, until no fault is found.
"""


def graph_path(name: str) -> Path:
    """Return the path of a graph's file. ``name`` is this path, or the name of a graph that comes with planbook.

    Raises BadGraphFile if there is no such file.
    """
    path, shipped = Path(name), SHIPPED_GRAPHS / f"{name}.yaml"
    if path.is_file():
        return path
    if shipped.is_file():
        return shipped
    names = ", ".join(sorted(file.stem for file in SHIPPED_GRAPHS.glob("*.yaml"))) or "none"
    raise BadGraphFile(f"there is no graph {name}; name a YAML file or a shipped graph: {names}")


def read_graph(path: Path) -> GraphFile:
    """Return the graph in a file.

    Raises BadGraphFile if it is faulty. The message has a line ``FILE:LINE: place: problem`` for every fault.
    """
    return graph_of(graph_text(path), path)


def graph_text(path: Path) -> str:
    """Return the text of a graph file. Raises BadGraphFile if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadGraphFile(f"{path} cannot be read as a graph: {error}") from error


def graph_of(text: str, path: Path) -> GraphFile:
    """Return the graph in ``text``, the text of the file ``path``. The file need not exist yet. No hook is executed.

    Raises BadGraphFile if the text is faulty, with the same message as ``read_graph``.
    """
    file, faults = _examine(text, path)
    if faults or file is None:
        raise BadGraphFile("\n".join(f"{path}:{fault}" for fault in faults))
    file._find_hook = partial(find_hook, folder=path.parent)
    return file


def graph_faults(text: str, path: Path) -> list[FileFault]:
    """Return all faults in the text of a graph file, sorted by line. No hook is executed."""
    return _examine(text, path)[1]


def _examine(text: str, path: Path) -> tuple[GraphFile | None, list[FileFault]]:
    yaml_file = read_yaml(text, _MAX_CHARACTERS)
    if isinstance(yaml_file, list):
        return None, yaml_file
    if not isinstance(yaml_file.value, dict):
        return None, [FileFault(1, "", "a graph file must be a mapping; it begins with `nodes:`")]
    file, faults = _validate(yaml_file, path.stem)
    if file is not None:
        placed_faults = check_file(file, path.parent, is_complete=not faults)
        faults += [yaml_file.fault(*fault) for fault in islice(placed_faults, _MAX_FAULTS)]
    faults = sorted(set(faults))
    if len(faults) >= _MAX_FAULTS:
        faults[_MAX_FAULTS:] = [FileFault(faults[_MAX_FAULTS - 1].line, "", "there may be more faults; correct these")]
    return file, faults


def _validate(yaml_file: YamlFile, name: str) -> tuple[GraphFile | None, list[FileFault]]:
    """Return the graph without its faulty parts, and the faults that pydantic finds.

    The graph is None if it is still invalid without these parts, or if there are too many faults.
    """
    value: Any = {**deepcopy(yaml_file.value), "name": name}
    faults: dict[FileFault, None] = {}
    if "name" in yaml_file.value:
        faults[yaml_file.fault(("name",), "there is no such key; a graph is named after its file")] = None
    for _ in range(_MAX_VALIDATIONS):
        try:
            return GraphFile.model_validate(value), list(faults)
        except ValidationError as error:
            for problem in error.errors():
                where = tuple(part for part in problem["loc"] if part != "[key]")
                if len(faults) > _MAX_FAULTS:
                    return None, list(faults)
                faults.setdefault(yaml_file.fault(where, _message(problem, where)))
                _remove(value, where)
    return None, list(faults)


def _remove(value: Any, where: YamlPath) -> None:
    """Remove the faulty part at the path ``where``, or replace it with a placeholder if it is required."""
    *parents, last_key = where or ("nodes",)
    for key in parents:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(value, dict):
        value.pop(last_key, None)
        is_node = parents[-1:] == ["nodes"] != parents[-2:-1]  # a node may be named "nodes", too
        placeholder = _NODE if is_node else _PLACEHOLDERS.get(str(last_key))
        if placeholder is not None:
            value[last_key] = deepcopy(placeholder)
    elif isinstance(value, list) and isinstance(last_key, int):
        value[last_key] = {}


_NODE = {"prompt": "?", "expect": "any"}
_PLACEHOLDERS: Mapping[str, Any] = {
    "prompt": "?",
    "when": "true",
    "in": "answer",
    "expect": "any",
    "node": _NODE,
    "nodes": {"unreadable": _NODE},
}


def _message(error: Any, where: YamlPath) -> str:
    """Return the message for a pydantic error, in the terms of the file format."""
    kind, last_key = error["type"], where[-1] if where else "graph"
    if kind == "extra_forbidden":
        keys = (field.alias or name for name, field in _model_at(where[:-1]).model_fields.items())
        known_keys = [key for key in keys if key != "name"]
        return f"there is no such key{suggestion(str(last_key), known_keys)} The keys are {', '.join(known_keys)}"
    if kind == "value_error":
        return str(error["ctx"]["error"])
    return str(_MESSAGES.get(kind, error["msg"]))


def _model_at(where: YamlPath) -> type[BaseModel]:
    """Return the pydantic model that validates the part of the file at this path."""
    model: type[BaseModel] = GraphFile
    for parent, key in pairwise(("", *where)):
        if parent != "nodes":  # a key below `nodes` is the name of a node
            model = _MODELS.get(str(key), model)
    return model


_MODELS: Mapping[str, type[BaseModel]] = {"if": IfBranch, "each": EachLoop, "nodes": GraphNode, "node": BaseNode}
_MESSAGES = {
    "missing": "this is required",
    "is_instance_of": "this must be text; quote it, or start it with | and continue on the next line",
    "string_type": "this must be text; quote it, or start it with | and continue on the next line",
    "string_pattern_mismatch": "this is not a database path; write names separated by dots",
    "dict_type": "this must be a mapping: names, each followed by a colon and a value",
    "model_type": "this must be a mapping: names, each followed by a colon and a value",
    "model_attributes_type": "this must be a mapping: names, each followed by a colon and a value",
    "tuple_type": "this must be a list: [a, b], or one line with a dash for each item",
    "int_type": "this must be a whole number",
    "int_parsing": "this must be a whole number",
    "greater_than_equal": "this must be 1 or more",
    "too_short": "it is empty; at least one node is needed",
}
