"""A graph as a YAML file: read, checked as a whole, and every fault told with its line.

The format is told in the docstring of ``planbook.planner.graph``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from planbook.planner.errors import BadGraphFile
from planbook.planner.graph.checks import faults_of
from planbook.planner.graph.database import Database
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import Hooks, find_hook
from planbook.planner.graph.lookups import DATABASE, look_ups, paths_of
from planbook.planner.graph.node import Node
from planbook.planner.graph.schema import HOOKS, GraphSheet, Placed, read_sheet
from planbook.planner.graph.yaml_tree import Fault, read_tree

SHIPPED_GRAPHS = Path(__file__).parents[1] / "graphs"


def graph_path(name: str) -> Path:
    """The file of a graph: a path, or the name of one that ships. Raises BadGraphFile, saying which there are."""
    path, shipped = Path(name), SHIPPED_GRAPHS / f"{name}.yaml"
    if path.is_file():
        return path
    if shipped.is_file():
        return shipped
    names = ", ".join(sorted(each.stem for each in SHIPPED_GRAPHS.glob("*.yaml"))) or "none"
    raise BadGraphFile(f"there is no graph {name}; name a YAML file, or one that ships: {names}")


@dataclass(frozen=True)
class GraphFile:
    """What a file says. A graph and a database are made anew for each who asks."""

    name: str
    about: str
    nodes: tuple[Node, ...]
    initial: Mapping[str, JsonValue] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    """What whoever runs the graph gives it, by database path, and what that is."""
    steps: int | None = None
    """Passes of an episode at most; None is as many as the episode lasts."""
    code: str | None = None
    """The node whose answer is the plan code of a step."""
    hooks: Hooks = field(default_factory=dict)

    @property
    def every_node(self) -> tuple[Node, ...]:
        """All nodes, those of branches and loops among them."""
        return tuple(inner for node in self.nodes for inner in node.within())

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that are asked."""
        return tuple(dict.fromkeys(node.model for node in self.every_node))

    @property
    def looked_up(self) -> tuple[str, ...]:
        """The paths of the database that prompts, conditions and loops look up; what hooks do is not known."""
        found: dict[str, None] = {}
        for node in self.every_node:
            found |= dict.fromkeys(each.path for each in look_ups(node.prompt, [DATABASE]))
            conditions = [node.when, *(branch.when for branch in node.branches)]
            names = [test.name for each in conditions if each for test in each.tests()]
            names += [node.loop.items] if node.loop else []
            found |= dict.fromkeys(name.partition(".")[2] for name in names if name.startswith(f"{DATABASE}."))
        return tuple(found)

    @property
    def known_paths(self) -> tuple[str, ...]:
        """Every path of the database that the file names: given, stored or looked up."""
        stored = [path for node in self.every_node for path in node.store]
        stored += [node.loop.store for node in self.every_node if node.loop and node.loop.store]
        return tuple(dict.fromkeys([*self.inputs, *paths_of(dict(self.initial)), *stored, *self.looked_up]))

    def graph(self) -> Graph:
        """The graph."""
        return Graph(*self.nodes)

    def database(self) -> Database:
        """The database, with its initial values."""
        return Database(self.initial)


NOTHING = "the file holds nothing; it begins with `nodes:`"


def read_graph(path: Path) -> GraphFile:
    """The graph of a file. Raises BadGraphFile: every fault, each as ``FILE:LINE: where: what, and what to do``."""
    return graph_of(text_of(path), path)


def text_of(path: Path) -> str:
    """What a graph file says. Raises BadGraphFile where it is no text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadGraphFile(f"{path} cannot be read as a graph: {error}") from error


def graph_of(text: str, path: Path) -> GraphFile:
    """The graph of a text that stands, or will stand, in that file. Raises BadGraphFile."""
    faults, sheet, placed = _examined(text, path)
    if faults or sheet is None:
        raise BadGraphFile("\n".join(f"{path}:{fault}" for fault in faults))
    return GraphFile(
        name=path.stem,
        about=sheet.about,
        nodes=tuple(each.node for each in placed if each.branch is None),
        initial={**sheet.database, **sheet.told()},
        inputs=sheet.inputs,
        steps=sheet.steps,
        code=sheet.code,
        hooks={name: find_hook(name, path.parent) for name in dict.fromkeys(_hooks_of(placed))},
    )


def file_faults(text: str, path: Path) -> list[Fault]:
    """Everything that is wrong with the text of a graph file, in the order of its lines; no hook is executed."""
    return _examined(text, path)[0]


def _examined(text: str, path: Path) -> tuple[list[Fault], GraphSheet | None, list[Placed]]:
    tree = read_tree(text)
    faults = list(tree.faults)
    if tree.value is None:
        return faults or [Fault(1, "", NOTHING)], None, []
    sheet, placed = read_sheet(tree, faults)
    if sheet is not None:
        faults += faults_of(sheet, placed, tree, path.parent, sure=not faults)
    return sorted(set(faults)), sheet, placed


def _hooks_of(placed: list[Placed]) -> Iterator[str]:
    for each in placed:
        for node in each.node.within():
            yield from (hook for key in HOOKS if (hook := getattr(node, key)))
