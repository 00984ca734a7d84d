"""Run one pass over a prompt graph, layer by layer.

A layer consists of the nodes that no longer wait for any other node. First, all nodes of a layer are asked. Then,
node by node in order of definition, each answer is stored, and the node's branches, loop and hooks change the rest of
the pass. So it does not matter whether the nodes of a layer are asked one by one or concurrently.

Each node asks in a separate scope of the journal, which records every answer. If the process is killed during a pass,
running the pass again with the same journal continues it.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from planbook.planner.errors import GraphError, UnusableReply
from planbook.planner.graph.database import GraphDatabase, checked_json
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import AnswerRejected, ComposeContext, FinishContext, Hooks, call_hook
from planbook.planner.graph.node import ANSWER, EachLoop, GraphNode, IfBranch
from planbook.planner.graph.templating import DATABASE, Expression, value_text
from planbook.planner.journal import Payload, Span
from planbook.planner.models.types import Message
from planbook.planner.prompts import Prompts
from planbook.planner.roles import Sample
from planbook.planner.scope import Scope
from planbook.planner.types import RenderedText

GRAPH_PROMPTS = Prompts(Path(__file__).parent / "templates")
"""The template from which a node's question is rendered."""
MAX_RECORDED = 2_000
"""A stored value with more characters than this is not recorded in the node's event. A note replaces it."""
TOO_LONG = "(too long to be repeated here)"


@dataclass(frozen=True)
class NodeQuestion:
    """A node's question, already rendered. The journal records it under the node's name."""

    name: str
    text: RenderedText
    system: tuple[Message, ...] = ()

    def render(self, **variables: object) -> RenderedText:
        """Return the text. Variables are ignored."""
        return self.text


class NodeAnswered(Payload):
    """The record of a node that was evaluated in a pass."""

    span = "node"
    bulky = frozenset({"answer", "stored"})

    node: str
    """The name of the node."""
    layer: int = 0
    """Number of the node's layer in the pass, from 0."""
    number: int = 0
    """Number of the pass, from 0."""
    skipped: bool = False
    """True if the node was not asked, and its last answer or its ``else`` value was used instead."""
    answer: JsonValue = None
    stored: dict[str, JsonValue] = {}
    """Maps the database paths that the node changed to the new values."""
    of: tuple[str, ...] = ()
    """The nodes whose answers were shown above the node's prompt."""

    @property
    def title(self) -> str:
        """The node's name, and its pass and layer, counted from 1."""
        return f"{self.node} [pass {self.number + 1}, layer {self.layer + 1}]"

    @property
    def status(self) -> str:
        """``skipped`` if the node was not asked, otherwise empty."""
        return "skipped" if self.skipped else ""


@dataclass
class PassResult:
    """The result of a pass."""

    number: int
    """Number of the pass, from 0."""
    answers: dict[str, JsonValue] = field(default_factory=dict)
    """Maps every node to its answer. For a skipped node, this is the answer that was used instead of a new one."""
    layers: list[list[str]] = field(default_factory=list)
    """The names of the nodes in each layer, in order of evaluation."""
    skipped: list[str] = field(default_factory=list)

    @property
    def order(self) -> list[str]:
        """All nodes in the order of evaluation."""
        return [name for layer in self.layers for name in layer]

    @property
    def last_answer(self) -> JsonValue:
        """The answer of the node that was evaluated last."""
        return self.answers[self.order[-1]] if self.layers else None


def run_pass(
    graph: Graph,
    database: GraphDatabase,
    scope: Scope,
    *,
    number: int = 0,
    hooks: Hooks | None = None,
    max_concurrent: int = 1,
    retry_failed: bool = False,
) -> PassResult:
    """Run pass ``number`` (counted from 0) over the graph. At most ``max_concurrent`` nodes are asked at the same time.

    A pass that failed can be run again with the same journal. Then, with ``retry_failed``, a node that got no usable
    reply is asked again. Without it, the recorded reply makes the pass fail again.

    Raises GraphError if there is a cycle, if a node that others wait for is missing, if a template or hook fails, or if
    an edit is refused. Cycles and missing nodes are found before any node is asked. Raises UnusableReply if the model
    does not repair an unusable answer. Errors from asking a model, such as ModelError, are raised unchanged.
    """
    running_pass = _RunningPass(graph, database, scope, hooks or {}, PassResult(number), max_concurrent, retry_failed)
    with graph.open_pass():
        graph.layers()
        while layer := graph.ready():
            running_pass.evaluate(layer)
            graph.layers()
    return running_pass.result


@dataclass
class _RunningPass:
    graph: Graph
    database: GraphDatabase
    scope: Scope
    hooks: Hooks
    result: PassResult
    max_concurrent: int
    retry_failed: bool
    spans: dict[str, Span[NodeAnswered]] = field(default_factory=dict)
    """Maps each node that was asked to its open span, which ends when the answer has been applied."""

    def evaluate(self, layer: list[str]) -> None:
        """Ask the nodes of one layer, and then apply their answers."""
        nodes = [self.graph.nodes[name] for name in layer]
        skipped_answers = {node.name: answer for node in nodes for answer in self._answer_if_skipped(node)}
        answers = {**skipped_answers, **self._answers([node for node in nodes if node.name not in skipped_answers])}
        self.result.skipped += skipped_answers
        for node in nodes:
            self.graph.mark_evaluated(node.name, answers[node.name])
            self.result.answers[node.name] = answers[node.name]
        for node in nodes:
            if node.name in skipped_answers:
                self.scope.record_instant(self._payload(node, skipped=True, answer=skipped_answers[node.name]))
            else:
                stored = self._apply_answer(node, answers[node.name])
                self.spans.pop(node.name).end(answer=answers[node.name], stored=stored)
        self.result.layers.append(layer)

    def _answer_if_skipped(self, node: GraphNode) -> list[JsonValue]:
        """Return a list with the answer to use if the node is skipped, or an empty list if it has to be asked."""
        is_due = self.result.number % node.every == 0 and (node.when is None or self._holds(node.when, node))
        if is_due and not self.graph.is_skipped(node.name):
            return []
        if node.name in self.graph.last_answers and not self.graph.is_temporary(node.name):
            return [self.graph.last_answers[node.name]]
        return [] if node.otherwise is None else [node.otherwise]

    def _payload(self, node: GraphNode, **fields: Any) -> NodeAnswered:
        """Return the payload of a node's span, including these fields."""
        return NodeAnswered(
            node=node.name,
            layer=len(self.result.layers),
            number=self.result.number,
            of=tuple(self.graph.shown_sources(node.name)),
            **fields,
        )

    def _answers(self, nodes: list[GraphNode]) -> dict[str, JsonValue]:
        """Ask the nodes and return their answers. All questions are composed before the first one is asked.

        If nodes fail, wait for those that are being asked, and raise the error of the first failed node in ``nodes``.
        """
        questions = [self._compose(node) for node in nodes]
        if self.max_concurrent <= 1 or len(nodes) <= 1:
            answers = list(map(self._answer, nodes, questions))
        else:
            with ThreadPoolExecutor(self.max_concurrent) as pool:
                answers = list(pool.map(self._answer, nodes, questions))
        return {node.name: answer for node, answer in zip(nodes, answers, strict=True)}

    def _answer(self, node: GraphNode, question: NodeQuestion) -> JsonValue:
        """Ask a node and return its answer.

        With ``retry_failed``, a node that got no usable reply in an earlier invocation of the run is asked again, in a
        new scope. Only the journal determines whether it failed, so a resumed pass uses the same scopes.
        """
        tries = 0
        while True:
            scope = self.scope.child(node.name)
            if node.name not in self.spans:
                self.spans[node.name] = scope.span(self._payload(node))
            recorded = scope.recorded_reply_count if self.retry_failed else 0
            try:
                return self._ask(node, question, scope, Sample(tries))
            except UnusableReply:
                if not recorded or scope.reply_count > recorded:
                    raise  # the node failed in this invocation of the run
            tries += 1

    def _compose(self, node: GraphNode) -> NodeQuestion:
        """Return a node's whole question: the answers of other nodes, its messages, and the form of the answer.

        If the node has a compose hook, the text that the hook returns replaces the answers.
        """
        composed_text, sources = "", self.graph.shown_sources(node.name)
        if node.compose:
            context = ComposeContext(node, self.database.view(), dict(self.result.answers), self.result.number)
            composed_text = call_hook(self.hooks, node.compose, context)
            if not isinstance(composed_text, str):
                raise GraphError(f"{node.name}: the compose hook {node.compose} must return a string")
        messages: dict[str, RenderedText] = {}
        for key, template in node.texts.items():
            try:
                messages[key] = template.render(self._variables(**node.loop_variables))
            except GraphError as error:
                raise GraphError(f"node {node.name}: {key}: {error}") from error
        text = GRAPH_PROMPTS["node"].render(
            answers=[] if node.compose else [(name, value_text(self.result.answers[name])) for name in sources],
            context=composed_text,
            prompt=messages["prompt"],
            kind=node.expect.kind,
            choices=node.expect.choices,
            sketch=node.expect.sketch() if node.expect.is_json else "",
        )
        system = (Message(role="system", content=messages["system"]),) if node.system else ()
        return NodeQuestion(node.name, text, system)

    def _ask(self, node: GraphNode, question: NodeQuestion, scope: Scope, sample: Sample) -> JsonValue:
        """Ask a node in this scope and return its answer. The model may repair an answer that does not fit.

        Raises UnusableReply if the last repair does not fit either.
        """
        view = self.database.view()

        def read(text: str) -> JsonValue:
            answer = node.expect.read(text)
            if node.check:
                checked = call_hook(self.hooks, node.check, answer, view, reraised=ValueError)
                answer = checked_json(checked, f"what the hook {node.check} returned")
            if node.loop and node.loop.items.names == {ANSWER}:
                self._items(node.loop, answer)  # raises now, so that the model can still correct the list
            return answer

        return scope.ask(node.model, question, read=read, history=question.system, sample=sample).value

    def _apply_answer(self, node: GraphNode, answer: JsonValue) -> dict[str, JsonValue]:
        """Apply the node's ``store``, branches, loop and finish hook to its answer.

        Return the new values in the database, by path.
        """
        self.database.changed_paths.clear()
        for path, part in node.store.items():
            try:
                stored = self._value(part, node, answer)
            except KeyError:
                if DATABASE in part.names:
                    raise GraphError(f"node {node.name}: store: there is nothing at {part}") from None
                continue  # the part is an optional field, which the answer lacks
            self.database.set(path, stored)
        if node.answers_path:
            self.database.append(node.answers_path, answer)
        for branch in node.branches:
            if self._holds(branch.when, node, answer=answer):
                self._add_branch(branch)
        if node.loop:
            self._add_loop(node, node.loop, answer)
        if node.finish:
            answers = dict(self.result.answers)
            context = FinishContext(node, answer, answers, self.database, self.graph, self.result.number)
            call_hook(self.hooks, node.finish, context)
        return self._changed_values()

    def _value(self, part: Expression, node: GraphNode, answer: JsonValue) -> JsonValue:
        """Return the part of an answer that an expression selects. Raises KeyError if there is none."""
        try:
            return part.value(self._variables(answer=answer))
        except GraphError as error:
            raise GraphError(f"node {node.name}: {part}: {error}") from error

    def _holds(self, condition: Expression, node: GraphNode, **local_variables: JsonValue) -> bool:
        try:
            return condition.holds(self._variables(**local_variables))
        except GraphError as error:
            raise GraphError(f"node {node.name}: when: {error}") from error

    def _changed_values(self) -> dict[str, JsonValue]:
        """Return the new values in the database: maps each path that the node has changed to its value.

        A note replaces a value that is longer than ``MAX_RECORDED``.
        """
        values = {path: self.database.get(path) for path in self.database.changed_paths if self.database.has(path)}
        return {path: TOO_LONG if len(value_text(value)) > MAX_RECORDED else value for path, value in values.items()}

    def _add_branch(self, branch: IfBranch) -> None:
        nodes = branch.nodes.values()
        for node in nodes:
            self.graph.add_temporary_node(node)
        awaited = {name for node in nodes for name in (*node.after, *node.needs)}
        self._add_edges([name for name in branch.nodes if name not in awaited], branch.before)

    def _add_loop(self, node: GraphNode, loop: EachLoop, answer: JsonValue) -> None:
        try:
            items = self._items(loop, answer)
        except (ValueError, GraphError) as error:
            raise GraphError(f"node {node.name}: {error}") from error
        if loop.store:
            self.database.set(loop.store, [])
        for number, item in enumerate(items, 1):
            item_node = GraphNode.for_item(node, loop, number, item)
            self.graph.add_temporary_node(item_node)
            self._add_edges([item_node.name], loop.before)

    def _items(self, loop: EachLoop, answer: JsonValue) -> list[JsonValue]:
        """Return the items of a loop. Raises AnswerRejected if the value is not a list, or if the list is too long."""
        try:
            items = loop.items.value(self._variables(answer=answer))
        except KeyError:
            if loop.items.names == {ANSWER}:
                return []  # the list is an optional field, which the answer lacks
            raise GraphError(f"there is nothing at {loop.items}") from None
        if not isinstance(items, list):
            raise AnswerRejected(f"{loop.items} must be a list, but is {value_text(items)[:60]!r}")
        if len(items) > loop.max_items:
            raise AnswerRejected(f"{loop.items} may have at most {loop.max_items} items, but has {len(items)}")
        return items

    def _variables(self, **local_variables: JsonValue) -> dict[str, JsonValue]:
        """Return the variables for a node's templates and expressions. Only this node has the ``local_variables``."""
        return {**self.result.answers, DATABASE: self.database.root, **local_variables}

    def _add_edges(self, names: list[str], before: tuple[str, ...]) -> None:
        """Make each node in ``before``, unless a hook left it out, wait for the nodes in ``names``."""
        for target in before:
            for name in names if target in self.graph.nodes else ():
                self.graph.add_temporary_edge(name, target)
