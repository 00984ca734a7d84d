"""Asking one node: its prompt is rendered, the model is asked, and the answer is read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from planbook.planner.asking import FIRST, Draw
from planbook.planner.errors import GraphError
from planbook.planner.graph.database import Database, json_value
from planbook.planner.graph.hooking import AfterQueryError, Composing, Hooks, call
from planbook.planner.graph.node import ANSWER, Node
from planbook.planner.graph.templating import DATABASE, value_text
from planbook.planner.prompts import Prompts
from planbook.planner.rendered import Rendered
from planbook.planner.scope import Scope

PROMPTS = Prompts(Path(__file__).parent / "templates")
Answers = Mapping[str, JsonValue]
"""Answers by the names of their nodes."""


@dataclass(frozen=True)
class NodeQuestion:
    """A node's question, which is rendered already; the record has it under the node's name."""

    name: str
    text: Rendered

    def render(self, **variables: object) -> Rendered:
        """Return the text; a node's question has no variables left."""
        if variables:
            raise TypeError(f"node {self.name} takes no variables, but got {sorted(variables)}")
        return self.text


def variables(database: Database, answers: Answers, **own: JsonValue) -> dict[str, JsonValue]:
    """Return what templates and expressions of a node can use."""
    return {**answers, DATABASE: database.root, **own}


def compose(
    node: Node, answers: Answers, told: list[str], database: Database, hooks: Hooks, number: int
) -> NodeQuestion:
    """Return a node's whole question: the answers of the nodes in ``told``, its prompt, the form of answer wanted."""
    context = ""
    if node.compose:
        context = call(hooks, node.compose, Composing(node, database.view(), dict(answers), number))
        if not isinstance(context, str):
            raise GraphError(f"{node.name}: the compose hook {node.compose} must return a text")
    try:
        prompt = node.prompt.render(variables(database, answers, **node.given))
    except GraphError as error:
        raise GraphError(f"node {node.name}: prompt: {error}") from error
    text = PROMPTS["node"].render(
        answers=[] if node.compose else [(name, value_text(answers[name])) for name in told],
        context=context,
        prompt=prompt,
        kind=node.expect.kind,
        choices=node.expect.choices,
        sketch=node.expect.sketch() if node.expect.is_json else "",
    )
    return NodeQuestion(node.name, text)


def ask(
    node: Node,
    question: NodeQuestion,
    scope: Scope,
    answers: Answers,
    database: Database,
    hooks: Hooks,
    draw: Draw = FIRST,
) -> JsonValue:
    """Return the node's answer. One that does not fit goes back to the model a few times. Raises UnusableReply."""
    view = database.view()

    def read(text: str) -> JsonValue:
        answer = node.expect.read(text)
        if node.check:
            answer = json_value(call(hooks, node.check, answer, view), f"what the hook {node.check} returned")
        if node.loop and node.loop.items.names == {ANSWER}:
            items_of(node, answer, answers, database)  # what is wrong with the list is the model's to correct
        return answer

    return scope.ask(node.model, question, read=read, draw=draw).value


def items_of(node: Node, answer: JsonValue, answers: Answers, database: Database) -> list[JsonValue]:
    """Return the items of a node's loop. Raises AfterQueryError where there is no list, or too long a one."""
    assert node.loop is not None
    try:
        items = node.loop.items.value(variables(database, answers, answer=answer))
    except KeyError:
        if node.loop.items.names == {ANSWER}:
            return []  # a field that may be left out
        raise GraphError(f"there is nothing at {node.loop.items}") from None
    if not isinstance(items, list):
        raise AfterQueryError(f"{node.loop.items} must be a list, and is {value_text(items)[:60]!r}")
    if len(items) > node.loop.most:
        raise AfterQueryError(f"{node.loop.items} may have {node.loop.most} items at most, and has {len(items)}")
    return items
