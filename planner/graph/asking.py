"""Asking one node: its prompt is composed, the model is asked, and the answer is read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from planbook.planner.errors import GraphError
from planbook.planner.graph.condition import ANSWER
from planbook.planner.graph.database import Database, json_value
from planbook.planner.graph.hooking import AfterQueryError, Composing, Hooks, call
from planbook.planner.graph.lookups import at, told
from planbook.planner.graph.node import Node
from planbook.planner.graph.templates import FOLDER
from planbook.planner.prompts import Prompts
from planbook.planner.rendered import Rendered
from planbook.planner.roles import FIRST_SAMPLE, Sample
from planbook.planner.scope import Scope

PROMPTS = Prompts(FOLDER)


@dataclass(frozen=True)
class NodeQuestion:
    """A node's question, whose text is composed already; in the record it goes by the node's name."""

    name: str
    text: Rendered

    def render(self, **variables: object) -> Rendered:
        """The text; a node's question has no variables left."""
        if variables:
            raise TypeError(f"node {self.name} takes no variables, but got {sorted(variables)}")
        return self.text


def compose(
    node: Node, answers: Mapping[str, JsonValue], told_of: list[str], database: Database, hooks: Hooks, number: int
) -> NodeQuestion:
    """A node's whole question: answers of others under their names, the prompt with its look-ups, the form wanted."""
    context = ""
    if node.compose:
        context = call(hooks, node.compose, Composing(node, database.view(), dict(answers), number))
        if not isinstance(context, str):
            raise GraphError(f"{node.name}: the compose hook {node.compose} must return a text")
    try:
        prompt = database.look_up(node.prompt, given=node.given)
    except GraphError as error:
        raise GraphError(f"node {node.name}: {error}") from error
    text = PROMPTS["node"].render(
        answers=[] if node.compose else [(name, told(answers[name])) for name in told_of],
        context=context,
        prompt=prompt,
        kind=node.expect.kind,
        choices=node.expect.choices,
        sketch=node.expect.sketch() if node.expect.is_json else "",
    )
    return NodeQuestion(node.name, text)


def ask(
    node: Node, question: NodeQuestion, scope: Scope, database: Database, hooks: Hooks, sample: Sample = FIRST_SAMPLE
) -> JsonValue:
    """The node's answer. What does not fit goes back to the model a few times; then it is UnusableReply."""
    view = database.view()

    def read(text: str) -> JsonValue:
        answer = node.expect.read(text)
        if node.check:
            answer = json_value(call(hooks, node.check, answer, view), f"what the hook {node.check} returned")
        _check_items(node, answer)
        return answer

    return scope.ask(node.model, question, read=read, sample=sample).value


def _check_items(node: Node, answer: JsonValue) -> None:
    """A loop over the answer finds a list that is not too long. Raises AfterQueryError."""
    if node.loop is None or node.loop.items.partition(".")[0] != ANSWER:
        return
    items_of(node, answer, Database())


def items_of(node: Node, answer: JsonValue, database: Database) -> list[JsonValue]:
    """What a node's loop goes through. Raises AfterQueryError where there is no list, or too long a one."""
    assert node.loop is not None
    first, _, rest = node.loop.items.partition(".")
    try:
        items = at(answer, rest) if first == ANSWER else database.get(rest)
    except KeyError:
        return []  # a field that may be left out
    if not isinstance(items, list):
        raise AfterQueryError(f"{node.loop.items} must be a list, and is {told(items)[:60]!r}")
    if len(items) > node.loop.most:
        raise AfterQueryError(f"{node.loop.items} may have {node.loop.most} items at most, and has {len(items)}")
    return items
