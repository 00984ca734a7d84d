"""A kit for tests of prompt graphs: passes over a graph, with a scripted model that answers by the node that asks."""

from collections.abc import Mapping, Sequence
from typing import Any

from planbook.planner import Journal, MemoryJournal, Message, Roles, Sampling, Scope, ScriptedModel
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import Hooks
from planbook.planner.graph.node import GraphNode
from planbook.planner.graph.traverse import PassResult, run_pass
from planbook.planner.models.types import current_question


class ScriptedAnswers:
    """A script that answers by node: a text, a list of texts in turn, or a function of the prompt.

    ``asked`` lists the role, the node and the prompt of each request.
    """

    def __init__(self, replies: Mapping[str, Any] | None = None, **more: Any) -> None:
        self.replies = {**(replies or {}), **more}
        self.asked: list[tuple[str, str, str]] = []
        self._reply_counts: dict[str, int] = {}

    def __call__(self, messages: Sequence[Message], sampling: Sampling) -> str:
        role, _, name = current_question().label.partition(": ")
        prompt = messages[-1].content
        self.asked.append((role, name, prompt))
        reply = self.replies.get(name, f"{name} says so")
        if callable(reply):
            return str(reply(prompt))
        if isinstance(reply, str):
            return reply
        number = self._reply_counts.get(name, 0)
        self._reply_counts[name] = number + 1
        return str(reply[min(number, len(reply) - 1)])

    @property
    def names(self) -> list[str]:
        """The nodes that were asked, in order."""
        return [name for _, name, _ in self.asked]

    def prompt(self, name: str) -> str:
        """Return the last prompt of a node."""
        return [prompt for _, asked, prompt in self.asked if asked == name][-1]

    def roles(self, repairs: int = 2) -> Roles:
        """Return roles that all answer by this script."""
        return Roles(lambda role: ScriptedModel(self), {}, repairs=repairs)


def traverse(
    graph: Graph,
    answers: ScriptedAnswers | None = None,
    database: GraphDatabase | None = None,
    *,
    number: int = 0,
    journal: Journal | None = None,
    hooks: Hooks | None = None,
    max_concurrent: int = 1,
    repairs: int = 2,
) -> PassResult:
    """Run one pass over the graph and return its result."""
    scope = Scope(journal or MemoryJournal(), f"pass/{number}", (answers or ScriptedAnswers()).roles(repairs))
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
