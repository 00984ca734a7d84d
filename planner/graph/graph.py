"""The nodes and edges of a prompt graph.

In a pass over the graph, each node is evaluated (asked or skipped) after the nodes that it waits for. The order follows
Kahn's algorithm (AgentKit paper, section 2.3), except that all ready nodes are evaluated together, as a layer. So an
answer can change later layers, but not its own layer. Permanent nodes and edges belong to every pass.
Temporary nodes and edges belong only to the current pass.

An edge makes one node wait for another. Nodes define edges themselves: a node waits for the nodes in ``after`` and for
those whose answers its messages and ``when`` use; the nodes in ``before`` of its branches and loop wait for it.
``add_edge`` adds more edges. Once a node has been evaluated, it cannot be changed in the same pass.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from pydantic import JsonValue

from planbook.planner.errors import GraphError
from planbook.planner.graph.node import GraphFile, GraphNode
from planbook.planner.graph.template_syntax import suggestion


class Edge(NamedTuple):
    """An edge, which makes the node ``target`` wait for the node ``source``."""

    source: str
    target: str
    shows_answer: bool = True
    """True if the answer of ``source`` is shown above the prompt of ``target``."""


class Graph:
    """The nodes and edges of a graph, and the state of the current pass. Only one pass can be open at a time."""

    def __init__(self, *nodes: GraphNode) -> None:
        self._nodes: dict[str, GraphNode] = {}
        self._edges: dict[Edge, None] = {}
        self._temporary_nodes: dict[str, GraphNode] = {}
        self._temporary_edges: dict[Edge, None] = {}
        self._left_out: set[str] = set()
        self._skipped: set[str] = set()
        self._evaluated: dict[str, None] = {}
        self._pass_is_open = False
        self.last_answers: dict[str, JsonValue] = {}
        """Maps each permanent node to its last answer, from this pass or an earlier one."""
        for node in nodes:
            self.add_node(node)

    # Queries.

    @property
    def nodes(self) -> Mapping[str, GraphNode]:
        """The nodes of this pass, in order of definition. Temporary nodes come last."""
        nodes = {**self._nodes, **self._temporary_nodes}
        return {name: node for name, node in nodes.items() if name not in self._left_out}

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The nodes that were evaluated in this pass, in order. Skipped nodes are included."""
        return tuple(self._evaluated)

    def is_temporary(self, name: str) -> bool:
        """Return True if the node exists for this pass only."""
        return name in self._temporary_nodes

    def is_skipped(self, name: str) -> bool:
        """Return True if ``skip`` was called for the node in this pass."""
        return name in self._skipped

    def edges(self) -> list[Edge]:
        """Return the edges of this pass. Edges that nodes define come before added edges."""
        edges: dict[tuple[str, str], bool] = {}
        for edge in (*_defined_edges(self.nodes), *self._edges, *self._temporary_edges):
            ends = edge[:2]
            if self._left_out.isdisjoint(ends):
                edges[ends] = edges.get(ends, False) or edge.shows_answer
        return [Edge(*ends, shows_answer) for ends, shows_answer in edges.items()]

    def shown_sources(self, name: str) -> list[str]:
        """Return the nodes whose answers are shown above this node's prompt, in the order shown."""
        sources = [edge.source for edge in self.edges() if edge.target == name and edge.shows_answer]
        after = self.nodes[name].after
        return sorted(sources, key=lambda source: after.index(source) if source in after else len(after))

    def ready(self) -> list[str]:
        """Return the next layer: the unevaluated nodes that no longer wait for another node, in order of definition."""
        waiting = {edge.target for edge in self.edges() if edge.source not in self._evaluated}
        return [name for name in self.nodes if name not in self._evaluated and name not in waiting]

    def layers(self) -> list[list[str]]:
        """Return all layers of the graph in its current state: lists of nodes that can be evaluated together.

        Raises GraphError if there is a cycle, or if an edge leads from or to a missing node.
        """
        nodes, edges = self.nodes, self.edges()
        sorter = TopologicalSorter[str](dict.fromkeys(nodes, ()))
        for edge in edges:
            _check_ends(edge, nodes)
            sorter.add(edge.target, edge.source)
        order, layers = {name: number for number, name in enumerate(nodes)}, list[list[str]]()
        try:
            sorter.prepare()
        except CycleError as error:
            cycle = error.args[1][1:]
            start = cycle.index(min(cycle, key=order.__getitem__))
            path = " -> ".join([*cycle[start:], *cycle[: start + 1]])
            raise GraphError(f"the graph has a cycle: {path}; remove one of its edges") from None
        while layer := sorted(sorter.get_ready(), key=order.__getitem__):
            layers.append(layer)
            sorter.done(*layer)
        return layers

    # Permanent nodes and edges.

    def add_node(self, node: GraphNode) -> None:
        """Add a permanent node. Raises GraphError if another node has the same name."""
        self._check_free(node.name)
        self._nodes[node.name] = node

    def add_edge(self, source: str, target: str, *, shows_answer: bool = True) -> None:
        """Make ``target`` wait for ``source`` in every pass."""
        self._check_not_evaluated(target)
        self._edges[Edge(source, target, shows_answer)] = None

    # Temporary edits.

    def add_temporary_node(self, node: GraphNode) -> None:
        """Add a node that exists until the end of this pass."""
        self._check_pass_is_open()
        self._check_free(node.name)
        self._temporary_nodes[node.name] = node

    def add_temporary_edge(self, source: str, target: str, *, shows_answer: bool = True) -> None:
        """Make ``target`` wait for ``source`` in this pass. ``target`` must not have been evaluated yet."""
        self._check_pass_is_open()
        self._check_known(source)
        self._check_changeable(target)
        self._temporary_edges[Edge(source, target, shows_answer)] = None

    def leave_out_node(self, name: str) -> None:
        """Leave a node out of this pass, so that no node waits for it and no prompt shows its answer."""
        self._check_pass_is_open()
        self._check_changeable(name)
        self._left_out.add(name)

    def skip(self, name: str) -> None:
        """Skip a node in this pass: use its last answer again or, if it has not answered yet, its ``else`` value.

        If it has no ``else`` value either, the node is asked anyway.
        """
        self._check_pass_is_open()
        self._check_changeable(name)
        self._skipped.add(name)

    # One pass.

    @contextmanager
    def open_pass(self) -> Iterator[None]:
        """Begin a pass, which ends with the ``with`` block. Temporary edits are then undone, even after an error."""
        if self._pass_is_open:
            raise GraphError("the graph is already being traversed; give each episode its own graph")
        self._pass_is_open = True
        try:
            yield
        finally:
            self._pass_is_open = False
            self._temporary_nodes, self._temporary_edges = {}, {}
            self._left_out, self._skipped = set(), set()
            self._evaluated = {}

    def mark_evaluated(self, name: str, answer: JsonValue) -> None:
        """Record the answer of a node. After that, the node cannot be changed in this pass."""
        self._evaluated[name] = None
        if name not in self._temporary_nodes:
            self.last_answers[name] = answer

    def _check_pass_is_open(self) -> None:
        if not self._pass_is_open:
            raise GraphError("temporary edits are possible only while the graph is being traversed")

    def _check_free(self, name: str) -> None:
        if name in self._nodes or name in self._temporary_nodes:
            raise GraphError(f"there is already a node named {name}; give the new one another name")

    def _check_known(self, name: str) -> None:
        if name not in self.nodes:
            raise GraphError(f"there is no node {name}{suggestion(name, self.nodes)}")

    def _check_changeable(self, name: str) -> None:
        self._check_known(name)
        self._check_not_evaluated(name)

    def _check_not_evaluated(self, name: str) -> None:
        if name in self._evaluated:
            raise GraphError(f"{name} was evaluated in this pass; it can be changed again in the next pass")


def _defined_edges(nodes: Mapping[str, GraphNode]) -> Iterator[Edge]:
    """Yield the edges that the nodes themselves define (see the module's docstring)."""
    for node in nodes.values():
        yield from (Edge(source, node.name) for source in node.after)
        yield from (Edge(source, node.name, shows_answer=False) for source in sorted(node.needs))
        loop_before = node.loop.before if node.loop else ()
        for target in (*(name for branch in node.branches for name in branch.before), *loop_before):
            yield Edge(node.name, target, shows_answer=False)


def _check_ends(edge: Edge, nodes: Mapping[str, GraphNode]) -> None:
    source, target = edge[:2]
    for name, relation in ((source, f"{target} waits for {source}"), (target, f"{source} must come before {target}")):
        if name not in nodes:
            raise GraphError(f"{relation}, but there is no such node{suggestion(name, nodes)}")


def whole_graph(file: GraphFile) -> Graph:
    """Return the graph with the nodes of all branches, and with one node for each loop.

    Whichever branches a pass takes, this graph contains every edge of the pass.
    """
    graph = Graph()
    for node in file.nodes.values():
        _add_with_inner_nodes(graph, node)
    return graph


def _add_with_inner_nodes(graph: Graph, node: GraphNode) -> None:
    graph.add_node(node)
    for branch in node.branches:
        for inner in branch.nodes.values():
            _add_with_inner_nodes(graph, inner)
        _connect(graph, node, tuple(branch.nodes.values()), branch.before)
    if node.loop:
        inner = GraphNode.for_item(node, node.loop, node.loop.name, None)
        graph.add_node(inner)
        _connect(graph, node, (inner,), node.loop.before)


def _connect(graph: Graph, node: GraphNode, inner_nodes: tuple[GraphNode, ...], before: tuple[str, ...]) -> None:
    """Add the edges from a node to the inner nodes of its branch or loop, and from these to the nodes in ``before``.

    The edges from the node lead to the inner nodes that wait for no other inner node. The edges to ``before`` come from
    the inner nodes that no other inner node waits for.
    """
    awaited = {name for inner in inner_nodes for name in (*inner.after, *inner.needs)}
    names = {inner.name for inner in inner_nodes}
    for inner in inner_nodes:
        if names.isdisjoint((*inner.after, *inner.needs)):
            graph.add_edge(node.name, inner.name, shows_answer=False)
        for name in before if inner.name not in awaited else ():
            graph.add_edge(inner.name, name)
