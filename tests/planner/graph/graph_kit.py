"""A kit for tests of prompt graphs: passes over a graph."""

from collections.abc import Mapping
from typing import Any

from planbook.planner import Journal, MemoryJournal, Roles, Scope
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import Hooks
from planbook.planner.graph.node import GraphNode
from planbook.planner.graph.traverse import PassResult, run_pass
from tests.planner.node_models import NodeModels


def traverse(
    graph: Graph,
    answers: NodeModels | None = None,
    database: GraphDatabase | None = None,
    *,
    number: int = 0,
    journal: Journal | None = None,
    hooks: Hooks | None = None,
    max_concurrent: int = 1,
    repairs: int = 2,
) -> PassResult:
    """Run one pass over the graph and return its result."""
    roles = Roles((answers or NodeModels()).model, {}, repairs=repairs)
    scope = Scope(journal or MemoryJournal(), f"pass/{number}", roles)
    settings = {"number": number, "hooks": hooks, "max_concurrent": max_concurrent}
    return run_pass(graph, GraphDatabase() if database is None else database, scope, **settings)  # type: ignore[arg-type]


def make_node(name: str, prompt: str, **more: Any) -> GraphNode:
    """Return a node with this prompt."""
    return GraphNode(name=name, prompt=prompt, **more)


def with_fields(node: GraphNode, **more: Any) -> GraphNode:
    """Return a copy of the node with other values in some fields."""
    return GraphNode(**{**dict(node), **more})


def chain(*names: str, finish: Mapping[str, str] | None = None) -> Graph:
    """Return a graph of nodes that each wait for the previous one. ``finish`` maps names of nodes to finish hooks."""
    hooks = finish or {}
    nodes = (
        make_node(name, f"{name}?", after=names[:number][-1:], finish=hooks.get(name))
        for number, name in enumerate(names)
    )
    return Graph(*nodes)
