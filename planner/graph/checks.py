"""Faults that only the whole of a graph file shows: names that do not exist, cycles, look-ups of what nothing sets."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs import Where
from planbook.planner.errors import GraphError
from planbook.planner.graph.answers import ANY, CODE, LIST, YES_NO, Shape
from planbook.planner.graph.database import PATH, at, paths_of
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import hook_problem
from planbook.planner.graph.node import ANSWER, BaseNode, GraphFile, GraphNode
from planbook.planner.graph.templating import DATABASE, Expression, LookUp, Template, nearest

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
RESERVED = frozenset(
    {DATABASE, ANSWER, "loop", "self", *"true false none True False None and or not in is if else".split()}
)
OF_AN_AGENT = ("world", "last", "step")
"""The top of what the database of a graph holds that plays an environment: one with ``code:``."""
Found = tuple[Where, str]
Forms = Mapping[str, Shape]
"""The forms of variables by their names."""


class _NodePlace(NamedTuple):
    """A node, its place in the file, and the names of those beside and around it that it may wait for."""

    node: GraphNode
    where: Where
    around: frozenset[str]
    branch: tuple[str, int] | None = None
    """The node whose branch it is in, and which of the branches."""


class _StoredPath(NamedTuple):
    """A path that a node stores something at."""

    path: str
    each: _NodePlace
    where: Where
    shape: Shape


def whole_graph(file: GraphFile) -> Graph:
    """Return the graph with every branch taken and one node for each loop, so that no pass can have other edges."""
    graph = Graph()
    for node in file.nodes.values():
        _add(graph, node)
    return graph


def _add(graph: Graph, node: GraphNode) -> None:
    graph.add_node(node)
    for branch in node.branches:
        for inner in branch.nodes.values():
            _add(graph, inner)
        _lead(graph, node, tuple(branch.nodes.values()), branch.before)
    if node.loop:
        inner = GraphNode.of_item(node, node.loop, node.loop.name, None)
        graph.add_node(inner)
        _lead(graph, node, (inner,), node.loop.before)


def _lead(graph: Graph, node: GraphNode, inner: tuple[GraphNode, ...], before: tuple[str, ...]) -> None:
    """Add the edges of a branch or a loop: from the node that has it, and to those that wait for it."""
    awaited = {name for each in inner for name in (*each.after, *each.needs)}
    names = {each.name for each in inner}
    for each in inner:
        if names.isdisjoint((*each.after, *each.needs)):
            graph.add_edge(node.name, each.name, told=False)
        for name in before if each.name not in awaited else ():
            graph.add_edge(each.name, name)


def faults_of(file: GraphFile, folder: Path, *, whole: bool) -> Iterator[Found]:
    """Yield every fault that pydantic does not find; not ``whole`` where parts of the file could not be read."""
    placed = [found for node in file.nodes.values() for found in _placed(node, ("nodes",), frozenset(file.nodes))]
    checks = _Checks(file, placed, whole=whole)
    yield from _whole_file(file, placed, whole=whole)
    yield from checks.stores()
    for each in placed:
        yield from checks.node(each)
        for question, where in _questions(each):
            for key, name in question.hooks.items():
                if problem := hook_problem(name, folder):
                    yield (*where, key), problem


def _placed(
    node: GraphNode, where: Where, around: frozenset[str], branch: tuple[str, int] | None = None
) -> Iterator[_NodePlace]:
    where = (*where, node.name)
    yield _NodePlace(node, where, around, branch)
    for number, each in enumerate(node.branches):
        for inner in each.nodes.values():
            yield from _placed(inner, (*where, "if", number, "nodes"), around | set(each.nodes), (node.name, number))


def _questions(each: _NodePlace) -> Iterator[tuple[BaseNode, Where]]:
    yield each.node, each.where
    if each.node.loop:
        yield each.node.loop.node, (*each.where, "each", "node")


def _whole_file(file: GraphFile, placed: list[_NodePlace], *, whole: bool) -> Iterator[Found]:
    if file.code is not None and file.code not in file.nodes:
        yield ("code",), f"there is no node {file.code}{nearest(file.code, file.nodes)}"
    elif file.code is not None and file.nodes[file.code].expect.kind not in ((CODE,) if whole else (CODE, ANY)):
        yield ("nodes", file.code, "expect"), "its answer is the plan code of the step, by `code:`; write expect: code"
    for path in file.inputs:
        if not PATH.fullmatch(path):
            yield ("inputs", path), f"{path!r} is not a path of the database; write names with dots between them"
    names = [each.node.name for each in placed]
    for number, each in enumerate(placed):
        if each.node.name in names[:number]:
            yield each.where, f"there is another node {each.node.name}; give this one another name"
    if len(set(names)) == len(names):
        yield from _cycles(file, placed)


def _cycles(file: GraphFile, placed: list[_NodePlace]) -> Iterator[Found]:
    graph = whole_graph(file)
    for missing in {name for edge in graph.edges() for name in edge[:2]} - set(graph.nodes):
        graph.add_node(GraphNode(name=missing, prompt="?"))  # reported elsewhere
    try:
        graph.layers()
    except GraphError as error:
        first = str(error).partition("cycle: ")[2].partition(" ")[0].partition(":")[0]
        yield next(each.where for each in placed if each.node.name == first), str(error)


class _Checks:
    """What the nodes of a file can know of each other's answers and of the database."""

    def __init__(self, file: GraphFile, placed: list[_NodePlace], *, whole: bool) -> None:
        self._file, self._placed, self._whole = file, placed, whole
        self._by_name = {each.node.name: each for each in placed}
        self._stored = list(self._every_store())
        self._open = {*file.inputs, *(OF_AN_AGENT if file.code is not None else ())}
        """Paths at which anything may be, and below them."""

    def _every_store(self) -> Iterator[_StoredPath]:
        for each in self._placed:
            for path, part in each.node.store.items():
                yield _StoredPath(path, each, (*each.where, "store", path), self._part(each.node, part) or Shape(ANY))
            if (loop := each.node.loop) and loop.store:
                shape = Shape(LIST, inner=loop.node.expect)
                yield _StoredPath(loop.store, each, (*each.where, "each", "store"), shape)

    def _part(self, node: GraphNode, part: Expression) -> Shape | None:
        """Return the form of a plain part of the answer; None for any other expression, and for what cannot be."""
        (look_up, *more), source = part.look_ups or (LookUp(""),), part.source.strip()
        if more or look_up.path != source or look_up.path.partition(".")[0] != ANSWER:
            return None
        try:
            return node.expect.part(source.partition(".")[2])
        except KeyError:
            return None

    # one node

    def node(self, each: _NodePlace) -> Iterator[Found]:
        """Yield the faults of one node."""
        node, where, loop = each.node, each.where, each.node.loop
        if not NAME.fullmatch(node.name) or node.name in RESERVED:
            yield where, f"{node.name!r} cannot be the name of a node: write a word of letters, digits and _"
        yield from self._known_nodes(node.after, (*where, "after"), each)
        yield from self._source(node.prompt, (*where, "prompt"), each, {}, optional=False)
        if node.when:
            yield from self._condition(node.when, (*where, "when"), each, {})
        if node.otherwise not in (None, ""):
            try:
                node.expect.check(node.otherwise)
            except ValueError as error:
                yield (*where, "else"), f"the answer is expected otherwise: {error}"
        own = {ANSWER: node.expect}
        for path, part in node.store.items():
            yield from self._source(part, (*where, "store", path), each, own)
        for number, branch in enumerate(node.branches):
            yield from self._known_nodes(branch.before, (*where, "if", number, "before"), each)
            yield from self._condition(branch.when, (*where, "if", number, "when"), each, own)
        if loop:
            at_loop = (*where, "each")
            yield from self._known_nodes(loop.before, (*at_loop, "before"), each)
            yield from self._known_nodes(loop.node.after, (*at_loop, "node", "after"), each)
            yield from self._source(loop.items, (*at_loop, "in"), each, own)
            items = self._part(node, loop.items)
            if items and items.kind not in (LIST, ANY):
                yield (*at_loop, "in"), f"{loop.items} is not a list; expected is {items.sketch()}"
            if not NAME.fullmatch(loop.name) or loop.name in RESERVED:
                yield (*at_loop, "as"), f"{loop.name!r} cannot stand for the items; write one word, such as item"
            item = {loop.name: (items and items.inner) or Shape(ANY)}
            yield from self._source(loop.node.prompt, (*at_loop, "node", "prompt"), each, item, optional=False)

    def _known_nodes(self, names: tuple[str, ...], where: Where, each: _NodePlace) -> Iterator[Found]:
        for name in names:
            if problem := self._node_problem(name, each):
                yield where, problem

    def _node_problem(self, name: str, each: _NodePlace) -> str:
        if name in each.around:
            return ""
        known = self._by_name.get(name)
        if known and known.branch:
            return f"{name} exists only where {known.branch[0]} branches; write before: [{each.node.name}] there"
        return f"there is no node {name}{nearest(name, each.around)}"

    # look-ups

    def _condition(self, condition: Expression, where: Where, each: _NodePlace, own: Forms) -> Iterator[Found]:
        yield from self._source(condition, where, each, own, optional=False)
        yield from _truths(condition.as_condition, where, self._forms(each, own))

    def _forms(self, each: _NodePlace, own: Forms) -> Forms:
        return {**{name: self._by_name[name].node.expect for name in each.around if name in self._by_name}, **own}

    def _source(
        self, source: Template | Expression, where: Where, each: _NodePlace, own: Forms, *, optional: bool = True
    ) -> Iterator[Found]:
        """Yield the faults of a template or an expression; ``own`` are the forms of its own variables.

        With ``optional`` a part of an answer that may be left out can be looked up as it is.
        """
        forms = self._forms(each, own)
        for look_up in dict.fromkeys(source.look_ups):
            if problem := self._problem(look_up, forms, each, optional=optional):
                yield where, f"{look_up.path}: {problem}"
        yield from _truths(source.truths, where, forms)
        for path, value in source.comparisons:
            if (shape := _form(path, forms)) and not _can_be(shape, value):
                yield where, f"{path} is never {value}; it is {shape.sketch().strip('<>')}"

    def _problem(self, look_up: LookUp, forms: Forms, each: _NodePlace, *, optional: bool) -> str:
        """Return why a look-up can find nothing, or nothing for certain."""
        first, _, rest = look_up.path.partition(".")
        if first == DATABASE:
            return "" if look_up.may_be_missing or not rest else self._path_problem(rest)
        if first not in forms:
            if first in each.around:
                return ""  # a node that could not be read
            known = self._node_problem(first, each)
            return (
                known if self._by_name.get(first) else f"{known} Values of the database are {DATABASE}.{look_up.path}"
            )
        try:
            shape = forms[first].part(rest)
        except KeyError as error:
            return f"its answer has no {error.args[0]}; expected is {forms[first].sketch()}"
        if shape.optional and not (optional or look_up.may_be_missing):
            return "this may be left out of the answer; write what stands in its place, with | default(...)"
        return ""

    def _path_problem(self, path: str) -> str:
        """Return why a path of the database can never be looked up."""
        initial, known = self._file.initial, [*paths_of(self._file.initial), *self._open]
        known += [stored.path for stored in self._stored]
        if any(f"{each}.".startswith(f"{path}.") for each in known):
            return ""
        for each in self._open:
            if path.startswith(f"{each}."):
                return ""
        for stored in self._stored:
            if path.startswith(f"{stored.path}."):
                if _has(stored.shape, path.removeprefix(f"{stored.path}.")):
                    return ""
                return f"what is stored at {stored.path} is {stored.shape.sketch()}"
        around = path.rpartition(".")[0]
        if around and isinstance(_value(initial, around), dict | list):
            return ""  # it may have been filled since
        similar = nearest(path, known)
        if not self._whole and similar == ".":
            return ""  # it may be in a part that could not be read
        return f"nothing sets {path}{similar} Store it, or give it a value in `database:` or `inputs:`"

    # stores

    def stores(self) -> Iterator[Found]:
        """Yield paths that cannot be stored at, or that two nodes would overwrite."""
        for stored in self._stored:
            if not PATH.fullmatch(stored.path):
                yield stored.where, f"{stored.path!r} is not a path of the database; write names with dots between them"
            way = stored.path.split(".")
            for number in range(1, len(way)):
                value = _value(self._file.initial, before := ".".join(way[:number]))
                if value is not None and not isinstance(value, dict):
                    yield (
                        stored.where,
                        f"{stored.path} cannot be stored: {before} is a value in `database:`, not a group",
                    )
        for one, other in combinations(self._stored, 2):
            if problem := self._clash(one, other):
                yield other.where, problem

    def _clash(self, one: _StoredPath, other: _StoredPath) -> str:
        first, second = f"{one.path}.", f"{other.path}."
        if not (first.startswith(second) or second.startswith(first)):
            return ""
        names = one.each.node.name, other.each.node.name
        if names[0] == names[1] or one.path != other.path:
            return f"{names[0]} stores {one.path} and {names[1]} stores {other.path}: one would overwrite the other"
        branches = one.each.branch, other.each.branch
        apart = branches[0] and branches[1] and branches[0][0] == branches[1][0] and branches[0] != branches[1]
        if apart or self._follows(*names) or self._follows(*reversed(names)):
            return ""
        return f"{names[0]} stores {one.path} as well, and nothing says which of the two comes last; use another path"

    def _follows(self, later: str, earlier: str) -> bool:
        """Return whether one node waits for another, directly or through others."""
        edges = whole_graph(self._file).edges() if self._whole else []
        seen, left = set[str](), [later]
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left += [edge.source for edge in edges if edge.target == name]
        return earlier in seen or not self._whole


def _truths(paths: tuple[str, ...], where: Where, forms: Forms) -> Iterator[Found]:
    for path in paths:
        if (shape := _form(path, forms)) and shape.kind == YES_NO:
            yield where, f'{path} is "yes" or "no", and both count as true; write {path} == "yes"'


def _form(path: str, forms: Forms) -> Shape | None:
    first, _, rest = path.partition(".")
    return forms[first].part(rest) if first in forms and _has(forms[first], rest) else None


def _can_be(shape: Shape, value: object) -> bool:
    """Return whether an answer of that form can be equal to a constant."""
    if value is None or shape.kind in (CODE, ANY):
        return True
    try:
        return not isinstance(value, bool) and shape.check(value) == value  # type: ignore[arg-type]
    except ValueError:
        return False


def _has(shape: Shape, path: str) -> bool:
    try:
        shape.part(path)
    except KeyError:
        return False
    return True


def _value(values: dict[str, JsonValue], path: str) -> object:
    try:
        return at(values, path)
    except KeyError:
        return None
