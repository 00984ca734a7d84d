"""The graph: permanent and temporary nodes and edges, evaluated by Kahn's algorithm (AgentKit, section 2).

Edges come from the nodes (``after``, and the nodes that the prompt and ``when`` use), from branches and loops
(``before``), and from ``add_edge``. A node that was evaluated in a pass cannot be changed in that pass.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from pydantic import JsonValue

from planbook.planner.errors import GraphError
from planbook.planner.graph.node import GraphNode
from planbook.planner.graph.templating import nearest


class Edge(NamedTuple):
    """``target`` waits for ``source``. With ``shows_answer``, the answer of ``source`` precedes its prompt."""

    source: str
    target: str
    shows_answer: bool = True


class Graph:
    """Nodes in order of definition, and edges. Passes run one at a time; see ``passing``."""

    def __init__(self, *nodes: GraphNode) -> None:
        self._nodes: dict[str, GraphNode] = {}
        self._edges: dict[Edge, None] = {}
        self._temporary_nodes: dict[str, GraphNode] = {}
        self._temporary_edges: dict[Edge, None] = {}
        self._left_out: set[str] = set()
        self._edges_left_out: set[tuple[str, str]] = set()
        self._skipped: set[str] = set()
        self._evaluated: dict[str, None] = {}
        self._passing = False
        self.last: dict[str, JsonValue] = {}
        """The last answer of each permanent node, from any pass."""
        for node in nodes:
            self.add_node(node)

    # Queries.

    @property
    def nodes(self) -> Mapping[str, GraphNode]:
        """The nodes of this pass, in order of definition; temporary ones come last."""
        nodes = {**self._nodes, **self._temporary_nodes}
        return {name: node for name, node in nodes.items() if name not in self._left_out}

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The nodes evaluated in this pass, in order, skipped ones included."""
        return tuple(self._evaluated)

    def is_temporary(self, name: str) -> bool:
        """Return True if the node exists for this pass only."""
        return name in self._temporary_nodes

    def is_skipped(self, name: str) -> bool:
        """Return True if ``skip`` was called for the node in this pass."""
        return name in self._skipped

    def edges(self) -> list[Edge]:
        """Return the edges of this pass: first those that the nodes themselves define, then the added ones."""
        edges: dict[tuple[str, str], bool] = {}
        for edge in (*_own_edges(self.nodes), *self._edges, *self._temporary_edges):
            ends = edge[:2]
            if self._left_out.isdisjoint(ends) and ends not in self._edges_left_out:
                edges[ends] = edges.get(ends, False) or edge.shows_answer
        return [Edge(*ends, shows_answer) for ends, shows_answer in edges.items()]

    def shown_sources(self, name: str) -> list[str]:
        """Return the nodes whose answers precede this node's prompt, in order."""
        sources = [edge.source for edge in self.edges() if edge.target == name and edge.shows_answer]
        own = self.nodes[name].after
        return sorted(sources, key=lambda source: own.index(source) if source in own else len(own))

    def ready(self) -> list[str]:
        """Return the next layer: the nodes whose sources are all evaluated, in order of definition."""
        waiting = {edge.target for edge in self.edges() if edge.source not in self._evaluated}
        return [name for name in self.nodes if name not in self._evaluated and name not in waiting]

    def layers(self) -> list[list[str]]:
        """Return all layers of the current graph. Raises GraphError for a cycle or a missing node."""
        nodes, edges = self.nodes, self.edges()
        for edge in edges:
            _check_ends(edge, nodes)
        left, layers = dict.fromkeys(nodes), list[list[str]]()
        while left:
            waiting = {edge.target for edge in edges if edge.source in left}
            layer = [name for name in left if name not in waiting]
            if not layer:
                raise GraphError(f"the graph has a cycle: {' -> '.join(_cycle(left, edges))}; remove one of its edges")
            layers.append(layer)
            left = {name: None for name in left if name in waiting}
        return layers

    # Permanent edits.

    def add_node(self, node: GraphNode) -> None:
        """Add a node. Raises GraphError if the name is taken."""
        self._check_free(node.name)
        self._nodes[node.name] = node

    def replace_node(self, node: GraphNode) -> None:
        """Replace the node with that name."""
        self._check_open(node.name, self._nodes)
        self._nodes[node.name] = node

    def remove_node(self, name: str) -> None:
        """Remove a node and the edges added to or from it.

        If another node still refers to it, the current or the next pass raises GraphError.
        """
        self._check_open(name, self._nodes)
        del self._nodes[name]
        self._edges = {edge: None for edge in self._edges if name not in edge[:2]}
        self.last.pop(name, None)

    def add_edge(self, source: str, target: str, *, shows_answer: bool = True) -> None:
        """Make ``target`` wait for ``source``."""
        self._check_not_evaluated(target)
        self._edges[Edge(source, target, shows_answer)] = None

    def remove_edge(self, source: str, target: str) -> None:
        """Remove an edge made by ``add_edge``. To remove one that a node itself defines, use ``replace_node``."""
        self._check_not_evaluated(target)
        removed = [edge for edge in self._edges if edge[:2] == (source, target)]
        if not removed:
            raise GraphError(f"no edge was added from {source} to {target}")
        for edge in removed:
            del self._edges[edge]

    # Temporary edits.

    def add_temporary_node(self, node: GraphNode) -> None:
        """Add a node for the rest of this pass."""
        self._check_passing()
        self._check_free(node.name)
        self._temporary_nodes[node.name] = node

    def add_temporary_edge(self, source: str, target: str, *, shows_answer: bool = True) -> None:
        """Make ``target``, which is not evaluated yet, wait for ``source`` in this pass."""
        self._check_passing()
        self._check_known(source, self.nodes)
        self._check_open(target, self.nodes)
        self._temporary_edges[Edge(source, target, shows_answer)] = None

    def leave_out_node(self, name: str) -> None:
        """Leave a node out of this pass, so that no node waits for it or gets its answer."""
        self._check_passing()
        self._check_open(name, self.nodes)
        self._left_out.add(name)

    def leave_out_edge(self, source: str, target: str) -> None:
        """Leave an edge out of this pass."""
        self._check_passing()
        self._check_open(target, self.nodes)
        if (source, target) not in {edge[:2] for edge in self.edges()}:
            raise GraphError(f"there is no edge from {source} to {target}")
        self._edges_left_out.add((source, target))

    def skip(self, name: str) -> None:
        """Skip a node in this pass: use its last answer again, or its ``else`` value. Without either, it is asked."""
        self._check_passing()
        self._check_open(name, self.nodes)
        self._skipped.add(name)

    # One pass.

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Open a pass. Temporary edits are undone at its end, even after an error."""
        if self._passing:
            raise GraphError("the graph is already being traversed; give each episode its own graph")
        self._passing = True
        try:
            yield
        finally:
            self._passing = False
            self._temporary_nodes, self._temporary_edges = {}, {}
            self._left_out, self._edges_left_out, self._skipped = set(), set(), set()
            self._evaluated = {}

    def mark_evaluated(self, name: str, answer: JsonValue) -> None:
        """Mark a node as evaluated. It cannot be changed in the rest of this pass."""
        self._evaluated[name] = None
        if name not in self._temporary_nodes:
            self.last[name] = answer

    def _check_passing(self) -> None:
        if not self._passing:
            raise GraphError("temporary edits are possible only while the graph is being traversed")

    def _check_free(self, name: str) -> None:
        if name in self._nodes or name in self._temporary_nodes:
            raise GraphError(f"there is already a node named {name}; give the new one another name")

    def _check_known(self, name: str, nodes: Mapping[str, GraphNode]) -> None:
        if name not in nodes:
            raise GraphError(f"there is no node {name}{nearest(name, nodes)}")

    def _check_open(self, name: str, nodes: Mapping[str, GraphNode]) -> None:
        self._check_known(name, nodes)
        self._check_not_evaluated(name)

    def _check_not_evaluated(self, name: str) -> None:
        if name in self._evaluated:
            raise GraphError(f"{name} was evaluated in this pass; it can be changed again in the next")


def _own_edges(nodes: Mapping[str, GraphNode]) -> Iterator[Edge]:
    for node in nodes.values():
        yield from (Edge(source, node.name) for source in node.after)
        yield from (Edge(source, node.name, shows_answer=False) for source in sorted(node.needs))
        loop_before = node.loop.before if node.loop else ()
        for target in (*(name for branch in node.branches for name in branch.before), *loop_before):
            yield Edge(node.name, target, shows_answer=False)


def _check_ends(edge: Edge, nodes: Mapping[str, GraphNode]) -> None:
    for name, other in (edge[:2], edge[1::-1]):
        if name not in nodes:
            relation = "waits for" if name == edge.source else "must come before"
            raise GraphError(f"{other} {relation} {name}, but there is no such node{nearest(name, nodes)}")


def _cycle(left: Mapping[str, None], edges: list[Edge]) -> list[str]:
    """Return one cycle among nodes that each wait for another of them, such as a, b, a."""
    before: dict[str, str] = {edge.target: edge.source for edge in edges if edge.source in left and edge.target in left}
    path = [next(iter(left))]
    while before[path[-1]] not in path:
        path.append(before[path[-1]])
    cycle = path[path.index(before[path[-1]]) :]
    cycle.reverse()
    first = min(range(len(cycle)), key=lambda number: list(left).index(cycle[number]))
    return [*cycle[first:], *cycle[: first + 1]]
