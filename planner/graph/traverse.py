"""One pass over a graph: layer by layer, each node asked, its answer read, and then the edits of the whole layer.

A node asks in a scope of its own and what it edits is applied when its layer is answered, in the order of definition:
so it makes no difference whether nodes are asked one by one or side by side, and a pass that was killed goes on where
it was when the same pass is run again on the same journal.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from planbook.planner.errors import GraphError, UnusableReply
from planbook.planner.graph.asking import NodeQuestion, ask, compose, items_of
from planbook.planner.graph.condition import ANSWER
from planbook.planner.graph.database import Database
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import Finishing, Hooks, call
from planbook.planner.graph.lookups import DATABASE, at, told
from planbook.planner.graph.node import IfBranch, Loop, Node
from planbook.planner.roles import Sample
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, Span

LONGEST_RECORDED = 2_000
"""Characters of a value that a node's event repeats."""
LEFT_OUT = "(too long to be repeated here)"


class NodeAnswered(Payload):
    """A node of a prompt graph in one pass."""

    span = "node"
    bulky = frozenset({"answer", "stored"})

    node: str
    layer: int = 0
    number: int = 0
    """Of the pass, from 0."""
    skipped: bool = False
    """Whether its last answer stood in for a new one."""
    temporary: bool = False
    answer: JsonValue = None
    stored: dict[str, JsonValue] = {}
    """What was written to the database, by its path there."""
    of: tuple[str, ...] = ()
    """The nodes whose answers it was given."""

    @property
    def title(self) -> str:
        """Name it."""
        return self.node

    @property
    def status(self) -> str:
        """Say whether it was asked."""
        return "skipped" if self.skipped else ""


@dataclass
class Pass:
    """What a pass came to: every node's answer, reused ones too, and the layers in which they were come by."""

    number: int
    answers: dict[str, JsonValue] = field(default_factory=dict)
    layers: list[list[str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def order(self) -> list[str]:
        """All nodes in the order in which they were evaluated."""
        return [name for layer in self.layers for name in layer]

    @property
    def last(self) -> JsonValue:
        """The answer of the last node."""
        return self.answers[self.order[-1]] if self.layers else None


def run_pass(
    graph: Graph,
    database: Database,
    scope: Scope,
    *,
    number: int = 0,
    hooks: Hooks | None = None,
    side_by_side: int = 1,
    anew: bool = False,
) -> Pass:
    """Traverse the graph once; passes are numbered from 0. The nodes of a layer are asked ``side_by_side`` at most.

    With ``anew`` a pass that failed can be run again on its journal: the node that had no usable reply is asked anew.

    Raises GraphError for a cycle or a missing dependency before anything is asked, and for a refused edit;
    UnusableReply where an answer stays unusable; and what asking a model raises.
    """
    passing = _Passing(graph, database, scope, hooks or {}, Pass(number), side_by_side, anew)
    with graph.passing():
        graph.layers()
        while layer := graph.ready():
            passing.evaluate(layer)
            graph.layers()
    return passing.result


@dataclass
class _Passing:
    graph: Graph
    database: Database
    scope: Scope
    hooks: Hooks
    result: Pass
    side_by_side: int
    anew: bool
    spans: dict[str, Span[NodeAnswered]] = field(default_factory=dict)
    """Of the nodes that are being answered."""

    def evaluate(self, layer: list[str]) -> None:
        """Everything of one layer."""
        nodes = [self.graph.nodes[name] for name in layer]
        reused = {node.name: answer for node in nodes for answer in self._reused(node)}
        told = {name: self.graph.told(name) for name in layer}
        asked = [node for node in nodes if node.name not in reused]
        answers = {**reused, **self._answers(asked, told)}
        skipped = {node.name: self._payload(node) for node in nodes if node.name in reused}
        self.result.layers.append(layer)
        self.result.skipped += reused
        for node in nodes:
            self.graph.mark_evaluated(node.name, answers[node.name])
            self.result.answers[node.name] = answers[node.name]
        for node in nodes:
            if node.name in reused:
                kept = {"skipped": True, "answer": reused[node.name]}
                self.scope.note(skipped[node.name].model_copy(update=kept))
            else:
                stored = self._after_query(node, answers[node.name])
                self.spans.pop(node.name).end(answer=answers[node.name], stored=stored)

    def _reused(self, node: Node) -> list[JsonValue]:
        """The answer that stands for a node that is skipped; nothing where it has to be asked."""
        due = self.result.number % node.every == 0 and (node.when is None or node.when.holds(self._value))
        if due and not self.graph.is_skipped(node.name):
            return []
        if node.name in self.graph.last and not self.graph.is_temporary(node.name):
            return [self.graph.last[node.name]]
        return [] if node.otherwise is None else [node.otherwise]

    def _payload(self, node: Node) -> NodeAnswered:
        """What is known of a node before it is asked."""
        return NodeAnswered(
            node=node.name,
            layer=len(self.result.layers),
            number=self.result.number,
            temporary=self.graph.is_temporary(node.name),
            of=tuple(self.graph.told(node.name)),
        )

    def _answers(self, nodes: list[Node], told: Mapping[str, list[str]]) -> dict[str, JsonValue]:
        """What the models say; all questions are composed before the first is asked."""
        questions = [
            compose(node, self.result.answers, told[node.name], self.database, self.hooks, self.result.number)
            for node in nodes
        ]

        def answer(place: int) -> JsonValue:
            return self._answer(nodes[place], questions[place])

        answered = _each(answer, len(nodes), self.side_by_side)
        return {node.name: each for node, each in zip(nodes, answered, strict=True)}

    def _answer(self, node: Node, question: NodeQuestion) -> JsonValue:
        """What the model says. Where an earlier sitting failed here, ``anew`` goes on in the node's next scope.

        All that is needed to know that is in the journal, so that resuming takes the same way every time.
        """
        tries = 0
        while True:
            scope = self.scope.child(node.name)
            if node.name not in self.spans:
                self.spans[node.name] = scope.span(self._payload(node))
            recorded = scope.recorded_replies if self.anew else 0
            try:
                return ask(node, question, scope, self.database, self.hooks, Sample(sample=tries))
            except UnusableReply:
                if not recorded or scope.asked > recorded:
                    raise  # it failed just now
            tries += 1

    def _after_query(self, node: Node, answer: JsonValue) -> dict[str, JsonValue]:
        """What follows from an answer: what is stored (which is returned), branches, the loop, and the finish hook."""
        self.database.written.clear()
        for path, part in node.store.items():
            try:
                stored = at(answer, part.partition(".")[2])
            except KeyError:
                continue  # a field that may be left out
            self.database.set(path, stored)
        if node.gather:
            self.database.append(node.gather, answer)
        for branch in node.branches:
            if branch.when.holds(lambda name: self._value(name, answer)):
                self._add_branch(branch)
        if node.loop:
            self._add_loop(node, node.loop, answer)
        if node.finish:
            answers = dict(self.result.answers)
            finishing = Finishing(node, answer, answers, self.database, self.graph, self.result.number)
            try:
                call(self.hooks, node.finish, finishing)
            except ValueError as error:
                raise GraphError(f"node {node.name}: {node.finish} refused an accepted answer: {error}") from error
        return self._written()

    def _written(self) -> dict[str, JsonValue]:
        """What the node has changed in the database, as it is now; what is long, such as a history, is named only."""
        now = {path: self.database.get(path) if self.database.has(path) else None for path in self.database.written}
        return {path: value if len(told(value)) <= LONGEST_RECORDED else LEFT_OUT for path, value in now.items()}

    def _add_branch(self, branch: IfBranch) -> None:
        for node in branch.nodes:
            self.graph.add_temporary_node(node)
        awaited = {name for node in branch.nodes for name in (*node.after, *node.needs)}
        self._lead_back([node.name for node in branch.nodes if node.name not in awaited], branch.before)

    def _add_loop(self, node: Node, loop: Loop, answer: JsonValue) -> None:
        try:
            items = items_of(node, answer, self.database)
        except ValueError as error:
            raise GraphError(f"node {node.name}: {error}") from error
        if loop.store:
            self.database.set(loop.store, [])
        for number, item in enumerate(items, 1):
            given = {**loop.node.given, loop.name: item}
            each = replace(loop.node, name=f"{node.name}:{number}", given=given, gather=loop.store)
            self.graph.add_temporary_node(each)
            self._lead_back([each.name], loop.before)

    def _lead_back(self, names: list[str], before: tuple[str, ...]) -> None:
        """Let the nodes that come after a branch or a loop wait for it; a hook may have left some of them out."""
        for target in before:
            for name in names if target in self.graph.nodes else ():
                self.graph.add_temporary_edge(name, target)

    def _value(self, name: str, answer: JsonValue = None) -> JsonValue:
        """The value of a name in a condition. Raises KeyError where there is none."""
        first, _, rest = name.partition(".")
        if first == DATABASE:
            if not self.database.has(rest):
                raise KeyError(name)
            return self.database.get(rest)
        return at(answer if first == ANSWER else self.result.answers[first], rest)


def _each(answer: Callable[[int], JsonValue], count: int, side_by_side: int) -> list[JsonValue]:
    """The answers in order. The first that fails, in that order, is raised, when those under way have come back."""
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
