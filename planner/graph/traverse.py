"""One pass over a graph, layer by layer: ask each node, read its answer, then apply the edits of the whole layer.

Each node asks in its own scope. The edits of a layer are applied in the order of definition, once all its nodes have
answered. So the result does not depend on whether nodes are asked concurrently, and a pass that was killed continues
when it is run again on the same journal.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from planbook.planner.errors import GraphError, UnusableReply
from planbook.planner.graph.database import GraphDatabase, json_value
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import AfterQueryError, Composing, Finishing, Hooks, call
from planbook.planner.graph.node import ANSWER, EachLoop, GraphNode, IfBranch
from planbook.planner.graph.templating import DATABASE, Expression, value_text
from planbook.planner.prompts import Prompts
from planbook.planner.rendered import Rendered
from planbook.planner.roles import Sample
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, Span

GRAPH_PROMPTS = Prompts(Path(__file__).parent / "templates")
"""The template around the prompt of a node."""
MAX_RECORDED = 2_000
"""Maximum number of characters of a stored value that the node's event repeats."""
LEFT_OUT = "(too long to be repeated here)"


@dataclass(frozen=True)
class NodeQuestion:
    """A node's question as rendered text. It is recorded under the node's name."""

    name: str
    text: Rendered

    def render(self, **variables: object) -> Rendered:
        """Return the text. A node's question takes no variables."""
        if variables:
            raise TypeError(f"node {self.name} takes no variables, but got {sorted(variables)}")
        return self.text


class NodeAnswered(Payload):
    """A node of a prompt graph in one pass."""

    span = "node"
    bulky = frozenset({"answer", "stored"})

    node: str
    layer: int = 0
    number: int = 0
    """Number of the pass, from 0."""
    skipped: bool = False
    """True if it was not asked: its last answer or its ``else`` value was used."""
    temporary: bool = False
    answer: JsonValue = None
    stored: dict[str, JsonValue] = {}
    """The values that it wrote to the database, by path."""
    of: tuple[str, ...] = ()
    """The nodes whose answers preceded its prompt."""

    @property
    def title(self) -> str:
        """The node's name."""
        return self.node

    @property
    def status(self) -> str:
        """``skipped`` if it was not asked, else empty."""
        return "skipped" if self.skipped else ""


@dataclass
class Pass:
    """The result of a pass: every node's answer, reused ones included, and the layers in the order of evaluation."""

    number: int
    answers: dict[str, JsonValue] = field(default_factory=dict)
    layers: list[list[str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def order(self) -> list[str]:
        """All nodes in the order of evaluation."""
        return [name for layer in self.layers for name in layer]

    @property
    def last(self) -> JsonValue:
        """The answer of the last node."""
        return self.answers[self.order[-1]] if self.layers else None


def run_pass(
    graph: Graph,
    database: GraphDatabase,
    scope: Scope,
    *,
    number: int = 0,
    hooks: Hooks | None = None,
    side_by_side: int = 1,
    anew: bool = False,
) -> Pass:
    """Traverse the graph once; passes are numbered from 0. At most ``side_by_side`` nodes are asked at a time.

    A pass that failed can be run again on its journal. With ``anew``, the node without a usable reply is then asked
    again.

    Raises GraphError for a cycle or a missing dependency, before any node is asked, and for a refused edit;
    UnusableReply if an answer stays unusable; and the errors of asking a model.
    """
    passing = _RunningPass(graph, database, scope, hooks or {}, Pass(number), side_by_side, anew)
    with graph.passing():
        graph.layers()
        while layer := graph.ready():
            passing.evaluate(layer)
            graph.layers()
    return passing.result


@dataclass
class _RunningPass:
    graph: Graph
    database: GraphDatabase
    scope: Scope
    hooks: Hooks
    result: Pass
    side_by_side: int
    anew: bool
    spans: dict[str, Span[NodeAnswered]] = field(default_factory=dict)
    """The spans of the nodes that are being answered."""

    def evaluate(self, layer: list[str]) -> None:
        """Ask the nodes of one layer, then apply their edits."""
        nodes = [self.graph.nodes[name] for name in layer]
        reused = {node.name: answer for node in nodes for answer in self._reused(node)}
        answers = {**reused, **self._answers([node for node in nodes if node.name not in reused])}
        skipped = {node.name: self._payload(node) for node in nodes if node.name in reused}
        self.result.layers.append(layer)
        self.result.skipped += reused
        for node in nodes:
            self.graph.mark_evaluated(node.name, answers[node.name])
            self.result.answers[node.name] = answers[node.name]
        for node in nodes:
            if node.name in reused:
                changes = {"skipped": True, "answer": reused[node.name]}
                self.scope.note(skipped[node.name].model_copy(update=changes))
            else:
                stored = self._after_query(node, answers[node.name])
                self.spans.pop(node.name).end(answer=answers[node.name], stored=stored)

    def _reused(self, node: GraphNode) -> list[JsonValue]:
        """Return the answer of a skipped node in a list; an empty list if the node has to be asked."""
        due = self.result.number % node.every == 0 and (node.when is None or self._holds(node.when, node))
        if due and not self.graph.is_skipped(node.name):
            return []
        if node.name in self.graph.last and not self.graph.is_temporary(node.name):
            return [self.graph.last[node.name]]
        return [] if node.otherwise is None else [node.otherwise]

    def _payload(self, node: GraphNode) -> NodeAnswered:
        """Return the payload of a node before it is asked."""
        return NodeAnswered(
            node=node.name,
            layer=len(self.result.layers),
            number=self.result.number,
            temporary=self.graph.is_temporary(node.name),
            of=tuple(self.graph.shown_sources(node.name)),
        )

    def _answers(self, nodes: list[GraphNode]) -> dict[str, JsonValue]:
        """Ask the nodes and return their answers. All questions are composed before the first is asked."""
        sources = [self.graph.shown_sources(node.name) for node in nodes]
        questions = [self._compose(node, shown) for node, shown in zip(nodes, sources, strict=True)]

        def answer(place: int) -> JsonValue:
            return self._answer(nodes[place], questions[place])

        answers = _run_concurrently(answer, len(nodes), self.side_by_side)
        return {node.name: value for node, value in zip(nodes, answers, strict=True)}

    def _answer(self, node: GraphNode, question: NodeQuestion) -> JsonValue:
        """Ask a node and return its answer. If an earlier invocation failed here, ``anew`` uses the next scope.

        Only the journal decides that, so that resuming a pass takes the same scopes every time.
        """
        tries = 0
        while True:
            scope = self.scope.child(node.name)
            if node.name not in self.spans:
                self.spans[node.name] = scope.span(self._payload(node))
            recorded = scope.recorded_replies if self.anew else 0
            try:
                return self._ask(node, question, scope, Sample(tries))
            except UnusableReply:
                if not recorded or scope.asked > recorded:
                    raise  # it failed in this invocation
            tries += 1

    def _compose(self, node: GraphNode, shown: list[str]) -> NodeQuestion:
        """Return a node's whole question: the answers of the nodes in ``shown``, its prompt, the form of the answer."""
        context = ""
        if node.compose:
            composing = Composing(node, self.database.view(), dict(self.result.answers), self.result.number)
            context = call(self.hooks, node.compose, composing)
            if not isinstance(context, str):
                raise GraphError(f"{node.name}: the compose hook {node.compose} must return a text")
        try:
            prompt = node.prompt.render(self._variables(**node.loop_variables))
        except GraphError as error:
            raise GraphError(f"node {node.name}: prompt: {error}") from error
        text = GRAPH_PROMPTS["node"].render(
            answers=[] if node.compose else [(name, value_text(self.result.answers[name])) for name in shown],
            context=context,
            prompt=prompt,
            kind=node.expect.kind,
            choices=node.expect.choices,
            sketch=node.expect.sketch() if node.expect.is_json else "",
        )
        return NodeQuestion(node.name, text)

    def _ask(self, node: GraphNode, question: NodeQuestion, scope: Scope, sample: Sample) -> JsonValue:
        """Ask a node and return its answer. The model may repair one that does not fit. Raises UnusableReply."""
        view = self.database.view()

        def read(text: str) -> JsonValue:
            answer = node.expect.read(text)
            if node.check:
                checked = call(self.hooks, node.check, answer, view, but=ValueError)
                answer = json_value(checked, f"what the hook {node.check} returned")
            if node.loop and node.loop.items.names == {ANSWER}:
                self._items(node.loop, answer)  # the model must correct a faulty list
            return answer

        return scope.ask(node.model, question, read=read, sample=sample).value

    def _after_query(self, node: GraphNode, answer: JsonValue) -> dict[str, JsonValue]:
        """Apply ``store``, branches, the loop and the finish hook to an answer. Return the stored values."""
        self.database.written.clear()
        for path, part in node.store.items():
            try:
                stored = self._value(part, node, answer)
            except KeyError:
                if DATABASE in part.names:
                    raise GraphError(f"node {node.name}: store: there is nothing at {part}") from None
                continue  # a field that may be left out
            self.database.set(path, stored)
        if node.gather:
            self.database.append(node.gather, answer)
        for branch in node.branches:
            if self._holds(branch.when, node, answer=answer):
                self._add_branch(branch)
        if node.loop:
            self._add_loop(node, node.loop, answer)
        if node.finish:
            answers = dict(self.result.answers)
            finishing = Finishing(node, answer, answers, self.database, self.graph, self.result.number)
            call(self.hooks, node.finish, finishing)
        return self._changed_values()

    def _value(self, part: Expression, node: GraphNode, answer: JsonValue) -> JsonValue:
        try:
            return part.value(self._variables(answer=answer))
        except GraphError as error:
            raise GraphError(f"node {node.name}: {part}: {error}") from error

    def _holds(self, condition: Expression, node: GraphNode, **own: JsonValue) -> bool:
        try:
            return condition.holds(self._variables(**own))
        except GraphError as error:
            raise GraphError(f"node {node.name}: when: {error}") from error

    def _changed_values(self) -> dict[str, JsonValue]:
        """Return the values that the node has changed in the database, by path; a note in place of a long value."""
        values = {path: self.database.get(path) for path in self.database.written if self.database.has(path)}
        return {path: LEFT_OUT if len(value_text(value)) > MAX_RECORDED else value for path, value in values.items()}

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
            item_node = GraphNode.of_item(node, loop, number, item)
            self.graph.add_temporary_node(item_node)
            self._add_edges([item_node.name], loop.before)

    def _items(self, loop: EachLoop, answer: JsonValue) -> list[JsonValue]:
        """Return the items of a loop. Raises AfterQueryError if they are not a list, or too many."""
        try:
            items = loop.items.value(self._variables(answer=answer))
        except KeyError:
            if loop.items.names == {ANSWER}:
                return []  # a field that may be left out
            raise GraphError(f"there is nothing at {loop.items}") from None
        if not isinstance(items, list):
            raise AfterQueryError(f"{loop.items} must be a list, and is {value_text(items)[:60]!r}")
        if len(items) > loop.most:
            raise AfterQueryError(f"{loop.items} may have at most {loop.most} items, but has {len(items)}")
        return items

    def _variables(self, **own: JsonValue) -> dict[str, JsonValue]:
        """Return the variables of a node's templates and expressions; ``own`` are those of this node alone."""
        return {**self.result.answers, DATABASE: self.database.root, **own}

    def _add_edges(self, names: list[str], before: tuple[str, ...]) -> None:
        """Make the nodes in ``before`` wait for these nodes of a branch or loop, unless a hook has left them out."""
        for target in before:
            for name in names if target in self.graph.nodes else ():
                self.graph.add_temporary_edge(name, target)


def _run_concurrently(answer: Callable[[int], JsonValue], count: int, side_by_side: int) -> list[JsonValue]:
    """Return the answers in order. Raises the first failure in that order, once the running calls have ended."""
    if side_by_side <= 1 or count <= 1:
        return [answer(place) for place in range(count)]
    with ThreadPoolExecutor(min(side_by_side, count)) as pool:
        futures = [pool.submit(answer, place) for place in range(count)]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
