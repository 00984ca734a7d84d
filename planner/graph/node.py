"""A node of a graph: one question to a model, and what becomes of its answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from planbook.planner.graph.condition import Condition
from planbook.planner.graph.shape import ANY_TEXT, Shape

ROLE = "graph"
"""The role of a node that names no model of its own."""
MOST = 20
"""Items that a loop goes through, unless it says otherwise."""


@dataclass(frozen=True)
class IfBranch:
    """IF: the nodes that are added for this pass where the condition holds.

    Their last answers (of those that no other of them waits for) are added to what the nodes in ``before`` are told.
    """

    when: Condition
    nodes: tuple["Node", ...]
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loop:
    """FOR: a node for every item of a list. ``items`` is ``answer.steps`` or ``db.path``; ``name`` stands for the item.

    ``store`` is where the list of their answers goes.
    """

    items: str
    name: str
    node: "Node"
    store: str | None = None
    before: tuple[str, ...] = ()
    most: int = MOST


@dataclass(frozen=True)
class Node:
    """One question. The hooks are named as in a graph file; ``given`` are the values of look-ups of its own."""

    name: str
    prompt: str
    after: tuple[str, ...] = ()
    """The nodes whose answers it is told, in this order."""
    model: str = ROLE
    expect: Shape = ANY_TEXT
    store: Mapping[str, str] = field(default_factory=dict)
    """Database path to the part of the answer that is stored there: ``answer``, or ``answer.field``."""
    when: Condition | None = None
    every: int = 1
    otherwise: JsonValue = None
    """What stands for the answer where the node is skipped and has none yet."""
    compose: str | None = None
    check: str | None = None
    finish: str | None = None
    branches: tuple[IfBranch, ...] = ()
    loop: Loop | None = None
    given: Mapping[str, JsonValue] = field(default_factory=dict)
    gather: str | None = None
    """Of a node of a loop: the list in the database that its answer is added to."""

    def within(self) -> Iterator["Node"]:
        """The node itself, and all those of its branches and its loop."""
        yield self
        for branch in self.branches:
            for node in branch.nodes:
                yield from node.within()
        if self.loop:
            yield self.loop.node

    @property
    def needs(self) -> frozenset[str]:
        """The nodes that must come before it without its being told their answers: those its condition asks about."""
        names = {test.name.partition(".")[0] for test in self.when.tests()} if self.when else set()
        return frozenset(names - {"db"} - set(self.after))
