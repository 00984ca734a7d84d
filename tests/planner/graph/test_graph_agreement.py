"""A pass has the same result if its nodes are asked one by one or side by side, and if it was cut off."""

import random
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.planner import Body, EventKind, JournalFailed, MemoryJournal
from planbook.planner.errors import GraphError
from planbook.planner.graph.answers import shape_of
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.graph import Edge, Graph
from planbook.planner.graph.hooking import FinishContext
from planbook.planner.graph.node import EachLoop, GraphNode, IfBranch
from tests.planner.graph.given import Answers, chain, changed, passed, question
from tests.planner.killed import KilledJournal
from tests.planner.pieces import timeless
from tests.spanning import held

ITEMS = shape_of(["whole"])


@st.composite
def random_nodes(draw: st.DrawFn) -> list[GraphNode]:
    """Nodes with branches, loops, conditions, overwritten stores, and edits and skips of later nodes."""
    count = draw(st.integers(2, 7))
    nodes: list[GraphNode] = []
    for number in range(count):
        earlier, later = [f"n{each}" for each in range(number)], [f"n{each}" for each in range(number + 1, count)]
        some = st.lists(st.sampled_from(earlier), unique=True, max_size=3) if earlier else st.just([])
        node = question(
            f"n{number}",
            "Q {{ db.a | default('-') }} {{ db.b | default('-') }}",
            after=tuple(draw(some)),
            every=draw(st.sampled_from([1, 1, 2])),
        )
        before = tuple(later[-1:]) if draw(st.booleans()) else ()
        kind = draw(st.sampled_from(["plain", "if", "for", "edit", "when", "skip"]))
        nodes.append(_of_kind(node, kind, before, earlier, later, draw(st.sampled_from("ab"))))
    return nodes


def _of_kind(
    node: GraphNode, kind: str, before: tuple[str, ...], earlier: list[str], later: list[str], path: str
) -> GraphNode:
    node = changed(node, store={path: "answer"})
    if kind == "if":
        inner = (
            question(f"{node.name}x", "X"),
            question(f"{node.name}y", "Y {{ db.a | default('-') }}", after=(f"{node.name}x",), store={path: "answer"}),
        )
        branch = IfBranch(when='answer not in ["0", "1"]', nodes={each.name: each for each in inner}, before=before)
        return changed(node, branches=(branch,))
    if kind == "for":
        inner_node = question("each", "I {{ item }} {{ db.b | default('-') }}")
        loop = EachLoop(items="answer", node=inner_node, store=f"{path}s", before=before)
        return changed(node, expect=ITEMS, loop=loop)
    if kind == "when" and earlier:
        return changed(node, when=f'{earlier[0]} != "1"', otherwise="else")
    if kind in ("edit", "skip") and later:
        return changed(node, finish=kind)
    return node


def edit(finishing: FinishContext) -> None:
    """Add a node that a later one waits for, where that is still possible."""
    finishing.database.append("log", finishing.node.name)
    last = list(finishing.graph.nodes)[-1]
    finishing.graph.add_temporary_node(
        question(f"{finishing.node.name}t", "T {{ db.a | default('-') }}", store={"a": "answer"})
    )
    open_yet = [name for name in finishing.graph.nodes if name not in finishing.graph.evaluated]
    if last in open_yet and last != f"{finishing.node.name}t":
        finishing.graph.add_temporary_edge(f"{finishing.node.name}t", last)


def skip(finishing: FinishContext) -> None:
    """Skip the last node, or leave it out."""
    open_yet = [name for name in finishing.graph.nodes if name not in finishing.graph.evaluated]
    if open_yet:
        act = finishing.graph.skip if len(open_yet) % 2 else finishing.graph.leave_out_node
        act(open_yet[-1])


HOOKS = {"edit": edit, "skip": skip}


class Replies(Answers):
    """Answers that follow from the prompt alone, some of them late."""

    def __init__(self, *, slow: bool = False) -> None:
        super().__init__()
        self.slow = slow

    def __call__(self, messages: Any, sampling: Any) -> str:
        super().__call__(messages, sampling)
        dice = random.Random(messages[-1].content)
        if self.slow:
            time.sleep(random.Random().random() / 500)
        wants_list = "Answer with JSON" in messages[-1].content
        return f"[{', '.join(map(str, range(dice.randrange(3))))}]" if wants_list else str(dice.randrange(3))


def played(nodes: list[GraphNode], journal: MemoryJournal, replies: Replies, side_by_side: int) -> Mapping[str, Any]:
    """Return the results of three passes over the graph on one database."""
    graph, database = Graph(*nodes), GraphDatabase()
    edges = graph.edges()
    results: list[Any] = []
    for number in range(3):
        given: dict[str, Any] = {"number": number, "journal": journal, "hooks": HOOKS, "side_by_side": side_by_side}
        try:
            done = passed(graph, replies, database, **given)
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
    one, many = MemoryJournal(), MemoryJournal()
    assert played(nodes, one, Replies(), 1) == played(nodes, many, Replies(slow=True), 4)
    assert dict(timeless(one)) == dict(timeless(many))
    assert held(one, "node") == held(many, "node"), "in the same order"


@pytest.mark.deep
@settings(deadline=None, max_examples=20)
@given(random_nodes(), st.integers(1, 5), st.sampled_from([1, 3]))
def test_passes_killed_again_and_again_have_the_same_events(
    nodes: list[GraphNode], every: int, side_by_side: int
) -> None:
    whole = MemoryJournal()
    expected = played(nodes, whole, Replies(), 1)
    events: dict[tuple[str, EventKind, int], Body] = {}
    for _ in range(len(whole.events)):
        journal = KilledJournal(every, events)
        try:
            assert played(nodes, journal, Replies(), side_by_side) == expected
            break
        except JournalFailed:
            assert len(journal.events) == len(events) + every
            events = journal.events
    assert dict(timeless(journal)) == dict(timeless(whole))


@pytest.mark.parametrize("side_by_side", [1, 4])
def test_a_resumed_pass_asks_only_the_unanswered_nodes(side_by_side: int) -> None:
    graph = Graph(*(question(name, "?") for name in "abcd"), question("end", "?", after=tuple("abcd")))
    whole = MemoryJournal()
    passed(graph, Answers(), journal=whole)
    for left in range(len(whole.events)):
        journal, answers = KilledJournal(left), Answers()
        with pytest.raises(JournalFailed):
            passed(graph, answers, journal=journal, side_by_side=side_by_side)
        saved = [scope.split("/")[2] for scope, kind, _ in journal.events if kind == "ask"]
        again = Answers()
        resumed = MemoryJournal()
        resumed.events = dict(journal.events)
        passed(graph, again, journal=resumed, side_by_side=side_by_side)
        assert sorted([*saved, *again.names]) == ["a", "b", "c", "d", "end"]
        assert dict(timeless(resumed)) == dict(timeless(whole))


def test_no_more_nodes_are_asked_side_by_side_than_allowed() -> None:
    busy, most, lock, met = 0, 0, threading.Lock(), threading.Barrier(3)

    def wait(prompt: str) -> str:
        nonlocal busy, most
        with lock:
            busy, most = busy + 1, max(most, busy + 1)
        met.wait(20)
        with lock:
            busy -= 1
        return "so"

    graph = Graph(*(question(f"n{number}", "?") for number in range(6)))
    answers = Answers(dict.fromkeys(graph.nodes, wait))
    assert passed(graph, answers, side_by_side=3).layers == [list(graph.nodes)]
    assert most == 3


def test_the_first_failing_node_in_order_of_definition_is_named_and_other_answers_are_kept() -> None:
    def late(prompt: str) -> str:
        time.sleep(0.05)
        return "rubbish"

    for side_by_side in (1, 3):
        yes, journal = shape_of("yes/no"), MemoryJournal()
        graph = Graph(question("ok", "?"), question("late", "?", expect=yes), question("soon", "?", expect=yes))
        with pytest.raises(Exception, match="no usable reply to late"):
            passed(graph, Answers(late=late, soon="rubbish"), journal=journal, side_by_side=side_by_side)
        assert ("pass/0/ok/0", "ask", 0) in journal.events


def test_an_edge_may_hide_the_answer() -> None:
    graph = chain("a", "b")
    graph.add_node(question("c", "c?"))
    graph.add_edge("b", "c", shows_answer=False)
    answers = Answers()
    assert passed(graph, answers).order == ["a", "b", "c"]
    assert answers.prompt("c") == "c?"
    assert graph.edges() == [Edge("a", "b"), Edge("b", "c", shows_answer=False)]
