"""A pass has the same result whether its nodes are asked one by one or in parallel, and even if it is interrupted."""

import random
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from planbook.planner import JournalFailed, MemoryJournal
from planbook.planner.errors import GraphError
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.graph import Edge, Graph
from planbook.planner.graph.hooking import FinishContext
from planbook.planner.graph.node import EachLoop, GraphNode, IfBranch
from planbook.planner.graph.shapes import shape_of
from tests.planner.graph.graph_kit import chain, make_node, traverse, with_fields
from tests.planner.node_models import NodeModels
from tests.planner.streaming_kit import KilledJournal, untimed
from tests.spanning import span_data

ITEMS = shape_of(["whole"])


@st.composite
def random_nodes(draw: st.DrawFn) -> list[GraphNode]:
    """Draw nodes with branches, loops, conditions, values stored twice, and hooks that edit or skip later nodes."""
    count = draw(st.integers(2, 7))
    nodes: list[GraphNode] = []
    for number in range(count):
        earlier, later = [f"n{each}" for each in range(number)], [f"n{each}" for each in range(number + 1, count)]
        some = st.lists(st.sampled_from(earlier), unique=True, max_size=3) if earlier else st.just([])
        node = make_node(
            f"n{number}",
            "Q {{ db.a | default('-') }} {{ db.b | default('-') }}",
            after=tuple(draw(some)),
            every=draw(st.sampled_from([1, 1, 2])),
        )
        before = tuple(later[-1:]) if draw(st.booleans()) else ()
        kind = draw(st.sampled_from(["plain", "if", "for", "edit", "when", "skip"]))
        nodes.append(_node_of_kind(node, kind, before, earlier, later, draw(st.sampled_from("ab"))))
    return nodes


def _node_of_kind(
    node: GraphNode, kind: str, before: tuple[str, ...], earlier: list[str], later: list[str], path: str
) -> GraphNode:
    node = with_fields(node, store={path: "answer"})
    if kind == "if":
        inner = (
            make_node(f"{node.name}x", "X"),
            make_node(f"{node.name}y", "Y {{ db.a | default('-') }}", after=(f"{node.name}x",), store={path: "answer"}),
        )
        branch = IfBranch(when='answer not in ["0", "1"]', nodes={each.name: each for each in inner}, before=before)
        return with_fields(node, branches=(branch,))
    if kind == "for":
        inner_node = make_node("each", "I {{ item }} {{ db.b | default('-') }}")
        loop = EachLoop(items="answer", node=inner_node, store=f"{path}s", before=before)
        return with_fields(node, expect=ITEMS, loop=loop)
    if kind == "when" and earlier:
        return with_fields(node, when=f'{earlier[0]} != "1"', otherwise="else")
    if kind in ("edit", "skip") and later:
        return with_fields(node, finish=kind)
    return node


def edit(finishing: FinishContext) -> None:
    """Add a node, and let the last node wait for it unless the last node has already been evaluated."""
    finishing.database.append("log", finishing.node.name)
    last = list(finishing.graph.nodes)[-1]
    finishing.graph.add_temporary_node(
        make_node(f"{finishing.node.name}t", "T {{ db.a | default('-') }}", store={"a": "answer"})
    )
    not_evaluated = [name for name in finishing.graph.nodes if name not in finishing.graph.evaluated]
    if last in not_evaluated and last != f"{finishing.node.name}t":
        finishing.graph.add_temporary_edge(f"{finishing.node.name}t", last)


def skip(finishing: FinishContext) -> None:
    """Skip or leave out the last node that has not been evaluated."""
    not_evaluated = [name for name in finishing.graph.nodes if name not in finishing.graph.evaluated]
    if not_evaluated:
        act = finishing.graph.skip if len(not_evaluated) % 2 else finishing.graph.leave_out_node
        act(not_evaluated[-1])


HOOKS = {"edit": edit, "skip": skip}


class Replies(NodeModels):
    """A script whose answers depend only on the prompt. With ``slow``, they come after random delays."""

    def __init__(self, *, slow: bool = False) -> None:
        super().__init__()
        self.slow = slow

    def say(self, node: str) -> str:
        prompt = self.prompt(node)
        rng = random.Random(prompt)
        if self.slow:
            time.sleep(random.Random().random() / 500)
        wants_list = "Answer with JSON" in prompt
        return f"[{', '.join(map(str, range(rng.randrange(3))))}]" if wants_list else str(rng.randrange(3))


def three_passes(
    nodes: list[GraphNode], journal: MemoryJournal, replies: Replies, max_concurrent: int
) -> Mapping[str, Any]:
    """Return the results of three passes over the graph on one database."""
    graph, database = Graph(*nodes), GraphDatabase()
    edges = graph.edges()
    results: list[Any] = []
    for number in range(3):
        arguments: dict[str, Any] = {
            "number": number,
            "journal": journal,
            "hooks": HOOKS,
            "max_concurrent": max_concurrent,
        }
        try:
            done = traverse(graph, replies, database, **arguments)
            results.append((done.layers, done.answers, done.skipped))
        except GraphError as error:
            results.append(str(error))
        assert graph.edges() == edges, "temporary edits are undone"
        assert set(graph.nodes) == {node.name for node in nodes}
    return {"results": results, "database": database.values()}


@pytest.mark.deep
@settings(deadline=None, max_examples=30)
@given(random_nodes())
def test_side_by_side_and_one_by_one_have_the_same_answers_database_and_events(nodes: list[GraphNode]) -> None:
    sequential, parallel = MemoryJournal(), MemoryJournal()
    assert three_passes(nodes, sequential, Replies(), 1) == three_passes(nodes, parallel, Replies(slow=True), 4)
    assert dict(untimed(sequential)) == dict(untimed(parallel))
    assert span_data(sequential, "node") == span_data(parallel, "node"), "the order is the same"


@pytest.mark.parametrize("max_concurrent", [1, 4])
def test_a_resumed_pass_asks_only_the_unanswered_nodes(max_concurrent: int) -> None:
    graph = Graph(*(make_node(name, "?") for name in "abcd"), make_node("end", "?", after=tuple("abcd")))
    complete = MemoryJournal()
    traverse(graph, NodeModels(), journal=complete)
    for left in range(len(complete.events)):
        journal, answers = KilledJournal(left), NodeModels()
        with pytest.raises(JournalFailed):
            traverse(graph, answers, journal=journal, max_concurrent=max_concurrent)
        saved = [scope.split("/")[2] for scope, kind, _ in journal.events if kind == "ask"]
        unanswered = NodeModels()
        resumed = MemoryJournal()
        resumed.events = dict(journal.events)
        traverse(graph, unanswered, journal=resumed, max_concurrent=max_concurrent)
        assert sorted([*saved, *unanswered.names]) == ["a", "b", "c", "d", "end"]
        assert dict(untimed(resumed)) == dict(untimed(complete))


def test_no_more_nodes_are_asked_max_concurrent_than_allowed() -> None:
    busy, most, lock, met = 0, 0, threading.Lock(), threading.Barrier(3)

    def wait(number: int) -> str:
        nonlocal busy, most
        with lock:
            busy, most = busy + 1, max(most, busy + 1)
        met.wait(20)
        with lock:
            busy -= 1
        return "so"

    graph = Graph(*(make_node(f"n{number}", "?") for number in range(6)))
    answers = NodeModels(dict.fromkeys(graph.nodes, wait))
    assert traverse(graph, answers, max_concurrent=3).layers == [list(graph.nodes)]
    assert most == 3


def test_the_first_failing_node_in_order_of_definition_is_named_and_other_answers_are_kept() -> None:
    def late(number: int) -> str:
        time.sleep(0.05)
        return "rubbish"

    for max_concurrent in (1, 3):
        yes, journal = shape_of("yes/no"), MemoryJournal()
        graph = Graph(make_node("ok", "?"), make_node("late", "?", expect=yes), make_node("soon", "?", expect=yes))
        with pytest.raises(Exception, match="no usable reply to late"):
            traverse(graph, NodeModels(late=late, soon="rubbish"), journal=journal, max_concurrent=max_concurrent)
        assert ("pass/0/ok/0", "ask", 0) in journal.events


def test_an_edge_may_hide_the_answer() -> None:
    graph = chain("a", "b")
    graph.add_node(make_node("c", "c?"))
    graph.add_edge("b", "c", shows_answer=False)
    answers = NodeModels()
    assert traverse(graph, answers).order == ["a", "b", "c"]
    assert answers.prompt("c") == "c?"
    assert graph.edges() == [Edge("a", "b"), Edge("b", "c", shows_answer=False)]
