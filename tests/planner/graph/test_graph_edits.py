"""Edits of a graph and of its database: which ones are allowed and when, and how long they last."""

from collections.abc import Callable
from typing import Any

import networkx  # type: ignore[import-untyped]
import pytest
from hypothesis import given, strategies as st

from planbook.planner.errors import GraphError
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.graph import Graph
from tests.planner.graph.graph_kit import chain, make_node, traverse
from tests.planner.node_models import NodeModels


@st.composite
def random_graphs(draw: st.DrawFn) -> Graph:
    """Draw an acyclic graph whose nodes are defined in any order."""
    count = draw(st.integers(1, 9))
    places = draw(st.permutations(range(count)))
    nodes = [
        make_node(f"n{place}", "?", after=tuple(f"n{before}" for before in range(place) if draw(st.booleans())))
        for place in places
    ]
    return Graph(*nodes)


@given(random_graphs())
def test_layers_are_the_topological_generations_in_order_of_definition(graph: Graph) -> None:
    model = networkx.DiGraph()
    model.add_nodes_from(graph.nodes)
    model.add_edges_from(edge[:2] for edge in graph.edges())
    order = list(graph.nodes)
    generations = [sorted(layer, key=order.index) for layer in networkx.topological_generations(model)]
    assert graph.layers() == generations
    assert traverse(graph).layers == generations


def test_a_cycle_is_an_error_before_the_first_query() -> None:
    answers = NodeModels()
    graph = Graph(
        make_node("free", "?"),
        make_node("z", "?", after=("c",)),
        make_node("a", "?", after=("c", "free")),
        make_node("b", "?", after=("a",)),
    )
    graph.add_node(make_node("c", "?", after=("b",)))
    with pytest.raises(GraphError, match="the graph has a cycle: a -> b -> c -> a;"):
        traverse(graph, answers)
    assert answers.asked == []
    with pytest.raises(GraphError, match="cycle: x -> x"):
        traverse(Graph(make_node("x", "?", after=("x",))), answers)


def test_a_missing_dependency_is_an_error_before_the_first_query() -> None:
    answers = NodeModels()
    with pytest.raises(GraphError, match='plan waits for lok, but there is no such node; did you mean "look"'):
        traverse(Graph(make_node("look", "?"), make_node("plan", "?", after=("lok",))), answers)
    assert answers.asked == []


EDITS: dict[str, Callable[[Graph], None]] = {
    "edge": lambda graph: graph.add_edge("c", "a"),
    "temporary edge": lambda graph: graph.add_temporary_edge("c", "a"),
    "leave out": lambda graph: graph.leave_out_node("a"),
    "skip": lambda graph: graph.skip("a"),
    "skip itself": lambda graph: graph.skip("b"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_evaluated_node_cannot_be_changed(edit: str) -> None:
    graph = chain("a", "b", "c", finish={"b": "edit"})
    with pytest.raises(GraphError, match="was evaluated in this pass; it can be changed again in the next pass"):
        traverse(graph, hooks={"edit": lambda finishing: EDITS[edit](finishing.graph)})
    assert traverse(graph, hooks={"edit": lambda finishing: None}).order == ["a", "b", "c"], (
        "the refused pass changed nothing"
    )


def test_outside_a_pass_only_permanent_edits_are_possible() -> None:
    graph = chain("a", "b")
    for edit in (graph.skip, graph.leave_out_node, lambda name: graph.add_temporary_edge("a", name)):
        with pytest.raises(GraphError, match="only while the graph is being traversed"):
            edit("b")
    graph.add_node(make_node("c", "?"))
    graph.add_edge("b", "c")
    assert graph.shown_sources("c") == ["b"]
    assert graph.layers() == [["a"], ["b"], ["c"]]
    with pytest.raises(GraphError, match="there is already a node named c"):
        graph.add_node(make_node("c", "?"))


def test_temporary_edits_are_undone_after_each_pass_even_a_failed_one() -> None:
    graph = chain("a", "b", "c", "d", finish={"a": "edit"})

    def edit(finishing: object) -> None:
        graph.add_temporary_node(make_node("extra", "?", after=("a",)))
        graph.add_temporary_edge("extra", "d")
        graph.leave_out_node("b")
        graph.skip("c")

    before = (graph.layers(), graph.edges())
    first = traverse(graph, hooks={"edit": edit})
    assert first.layers == [["a"], ["c", "extra"], ["d"]]
    assert first.skipped == [], "a skipped node without an earlier answer is asked"
    assert traverse(graph, hooks={"edit": edit}).skipped == ["c"]
    assert (graph.layers(), graph.edges(), graph.evaluated) == (*before, ())

    def fail(finishing: object) -> None:
        edit(finishing)
        raise GraphError("no further")

    with pytest.raises(GraphError, match="no further"):
        traverse(graph, hooks={"edit": fail})
    assert (graph.layers(), graph.edges(), graph.evaluated) == (*before, ())
    assert "extra" not in graph.last_answers


def test_a_cycle_that_an_edit_makes_is_an_error_before_the_next_query() -> None:
    graph, answers = chain("a", "b", "c", finish={"a": "edit"}), NodeModels()
    with pytest.raises(GraphError, match="cycle: b -> c -> b"):
        traverse(graph, answers, hooks={"edit": lambda finishing: graph.add_temporary_edge("c", "b")})
    assert answers.names == ["a"]


def test_a_graph_cannot_be_traversed_twice_at_the_same_time() -> None:
    graph = Graph(make_node("a", "?", finish="again"))
    with pytest.raises(GraphError, match="give each episode its own graph"):
        traverse(graph, hooks={"again": lambda finishing: traverse(graph)})


# The database.


def test_values_are_copied_in_and_out() -> None:
    plan: Any = {"steps": ["a"]}
    database = GraphDatabase({"plan": plan})
    plan["steps"].append("b")
    got: Any = database.get("plan.steps")
    got.append("c")
    assert database.values() == {"plan": {"steps": ["a"]}}
    stored: Any = [1]
    database.set("new.deep.list", stored)
    stored.append(2)
    database.append("new.deep.list", 3)
    assert database.get("new.deep.list") == [1, 3]
    assert database.get("new.deep.list.1") == 3
    assert not database.has("new.deeper")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.get("plan.gaol"), 'nothing at plan.gaol; did you mean "plan.goal"?'),
        (lambda d: d.set("plan.goal.deep", 1), "plan.goal in the database is a value"),
        (lambda d: d.append("plan.goal", 1), "not a list"),
        (lambda d: d.set("a b", 1), "is not a database path"),
        (lambda d: d.set("a", {1, 2}), "only JSON values"),
        (lambda d: d.view().set("plan.goal", 1), "cannot be changed here"),
    ],
)
def test_an_impossible_change_is_refused_with_the_reason(change: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message.replace("?", r"\?")):
        change(GraphDatabase({"plan": {"goal": "x"}}))
