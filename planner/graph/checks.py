"""Checks of a whole graph file: unknown names, cycles, and look-ups of paths that nothing sets."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs import Where
from planbook.planner.errors import GraphError
from planbook.planner.graph.answers import ANY, CODE, LIST, YES_NO, Shape
from planbook.planner.graph.database import part_at, paths_of
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import hook_problem
from planbook.planner.graph.node import ANSWER, BaseNode, EachLoop, GraphFile, GraphNode
from planbook.planner.graph.templating import DATABASE, Expression, LookUp, Template, nearest

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
RESERVED = frozenset(
    {DATABASE, ANSWER, "loop", "self", *"true false none True False None and or not in is if else".split()}
)
AGENT_PATHS = ("world", "last", "step")
"""Database paths that exist in a graph that plays an environment, which is one with ``code:``."""
PlacedFault = tuple[Where, str]
Shapes = Mapping[str, Shape]
"""The shapes of variables by name."""


class _NodePlace(NamedTuple):
    """A node, its place in the file, and the names of the nodes that it may wait for."""

    node: GraphNode
    where: Where
    visible: frozenset[str]
    branching: str = ""
    """The node whose branch it is in; empty for a node outside of branches."""


def whole_graph(file: GraphFile) -> Graph:
    """Return the graph with every branch taken and one node for each loop. It has the edges of every possible pass."""
    graph = Graph()
    for node in file.nodes.values():
        _add(graph, node)
    return graph


def _add(graph: Graph, node: GraphNode) -> None:
    graph.add_node(node)
    for branch in node.branches:
        for name, inner in branch.nodes.items():
            _add(graph, inner)
            if branch.nodes.keys().isdisjoint((*inner.after, *inner.needs)):
                graph.add_edge(node.name, name, shows_answer=False)
        _add_edges(graph, branch.last_nodes, branch.before)
    if node.loop:
        item_node = GraphNode.of_item(node, node.loop, node.loop.name, None)
        graph.add_node(item_node)
        graph.add_edge(node.name, item_node.name, shows_answer=False)
        _add_edges(graph, [item_node.name], node.loop.before)


def _add_edges(graph: Graph, sources: Sequence[str], targets: Sequence[str]) -> None:
    for source, target in product(sources, targets):
        graph.add_edge(source, target)


def check_file(file: GraphFile, folder: Path, *, whole: bool) -> Iterator[PlacedFault]:
    """Yield every fault that pydantic does not find. ``whole`` is False if parts of the file could not be read."""
    visible = frozenset(file.nodes)
    places = [place for node in file.nodes.values() for place in _places(node, ("nodes",), visible)]
    faults = [*_top_faults(file, places, whole=whole), *_Checks(file, places, whole=whole).faults()]
    faults += [fault for place in places for fault in _hook_faults(place, folder)]
    yield from faults or _cycles(file, places)


def _places(node: GraphNode, where: Where, visible: frozenset[str], branching: str = "") -> Iterator[_NodePlace]:
    where = (*where, node.name)
    yield _NodePlace(node, where, visible, branching)
    for number, branch in enumerate(node.branches):
        for inner in branch.nodes.values():
            yield from _places(inner, (*where, "if", number, "nodes"), visible | set(branch.nodes), node.name)


def _top_faults(file: GraphFile, places: list[_NodePlace], *, whole: bool) -> Iterator[PlacedFault]:
    if file.code is not None and file.code not in file.nodes:
        yield ("code",), f"there is no node {file.code}{nearest(file.code, file.nodes)}"
    elif file.code is not None and whole and file.nodes[file.code].expect.kind != CODE:
        yield ("nodes", file.code, "expect"), "its answer is the plan code of the step, by `code:`; write expect: code"
    names = [place.node.name for place in places]
    for number, place in enumerate(places):
        if place.node.name in names[:number]:
            yield place.where, f"there is another node {place.node.name}; give this one another name"


def _hook_faults(place: _NodePlace, folder: Path) -> Iterator[PlacedFault]:
    questions: list[tuple[BaseNode, Where]] = [(place.node, place.where)]
    if place.node.loop:
        questions.append((place.node.loop.node, (*place.where, "each", "node")))
    for question, where in questions:
        for key, name in question.hooks.items():
            if problem := hook_problem(name, folder):
                yield (*where, key), problem


def _cycles(file: GraphFile, places: list[_NodePlace]) -> Iterator[PlacedFault]:
    try:
        whole_graph(file).layers()
    except GraphError as error:
        first = str(error).partition("cycle: ")[2].partition(" ")[0].partition(":")[0]
        yield next(place.where for place in places if place.node.name == first), str(error)


class _Checks:
    """Checks of the nodes against each other's answers and the database."""

    def __init__(self, file: GraphFile, places: list[_NodePlace], *, whole: bool) -> None:
        self._file, self._places, self._whole = file, places, whole
        self._by_name = {place.node.name: place for place in places}
        given = (*file.inputs, *(AGENT_PATHS if file.code is not None else ()))
        self._stored = [(path, shape) for place in places for path, shape, _ in _stores(place)]
        self._stored += [(path, Shape(ANY)) for path in given]
        """Paths of the database that are set, each with the shape of its value."""

    def faults(self) -> Iterator[PlacedFault]:
        """Yield the faults of paths and nodes."""
        yield from self._paths()
        for place in self._places:
            yield from self._node(place)
            if place.node.loop:
                yield from self._loop(place, place.node.loop)

    def _paths(self) -> Iterator[PlacedFault]:
        """Yield the faults of paths that cannot be set, alone or after others."""
        database = self._file.new_database()
        stored = [(path, where) for place in self._places for path, _, where in _stores(place)]
        for path, where in (*((path, ("inputs", path)) for path in self._file.inputs), *stored):
            try:
                database.set(path, None)
            except GraphError as error:
                yield where, str(error)

    def _node(self, place: _NodePlace) -> Iterator[PlacedFault]:
        node, where = place.node, place.where
        if not NAME.fullmatch(node.name) or node.name in RESERVED:
            yield where, f"{node.name!r} cannot be the name of a node: write a word of letters, digits and _"
        yield from self._known_nodes(node.after, (*where, "after"), place)
        yield from self._source(node.prompt, (*where, "prompt"), place, {}, optional=False)
        if node.when:
            yield from self._condition(node.when, (*where, "when"), place, {})
        if node.otherwise not in (None, ""):
            try:
                node.expect.check(node.otherwise)
            except ValueError as error:
                yield (*where, "else"), f"the answer is expected otherwise: {error}"
        own = {ANSWER: node.expect}
        for path, part in node.store.items():
            yield from self._source(part, (*where, "store", path), place, own)
        for number, branch in enumerate(node.branches):
            yield from self._known_nodes(branch.before, (*where, "if", number, "before"), place)
            yield from self._condition(branch.when, (*where, "if", number, "when"), place, own)

    def _loop(self, place: _NodePlace, loop: EachLoop) -> Iterator[PlacedFault]:
        where, items = (*place.where, "each"), _part(place.node, loop.items)
        yield from self._known_nodes(loop.before, (*where, "before"), place)
        yield from self._known_nodes(loop.node.after, (*where, "node", "after"), place)
        yield from self._source(loop.items, (*where, "in"), place, {ANSWER: place.node.expect})
        if items and items.kind not in (LIST, ANY):
            yield (*where, "in"), f"{loop.items} is not a list; expected is {items.sketch()}"
        if not NAME.fullmatch(loop.name) or loop.name in RESERVED:
            yield (*where, "as"), f"{loop.name!r} cannot stand for the items; write one word, such as item"
        item = {loop.name: (items and items.inner) or Shape(ANY)}
        yield from self._source(loop.node.prompt, (*where, "node", "prompt"), place, item, optional=False)

    def _known_nodes(self, names: tuple[str, ...], where: Where, place: _NodePlace) -> Iterator[PlacedFault]:
        for name in names:
            if problem := self._node_problem(name, place):
                yield where, problem

    def _node_problem(self, name: str, place: _NodePlace) -> str:
        if name in place.visible:
            return ""
        named = self._by_name.get(name)
        if named and named.branching:
            return f"{name} exists only where {named.branching} branches; write before: [{place.node.name}] there"
        return f"there is no node {name}{nearest(name, place.visible)}"

    # Look-ups.

    def _condition(self, condition: Expression, where: Where, place: _NodePlace, own: Shapes) -> Iterator[PlacedFault]:
        yield from self._source(condition, where, place, own, optional=False)
        yield from _truths(condition.as_condition, where, self._shapes(place, own))

    def _shapes(self, place: _NodePlace, own: Shapes) -> Shapes:
        return {**{name: self._by_name[name].node.expect for name in place.visible}, **own}

    def _source(
        self, source: Template | Expression, where: Where, place: _NodePlace, own: Shapes, *, optional: bool = True
    ) -> Iterator[PlacedFault]:
        """Yield the faults of a template or an expression; ``own`` holds the shapes of its own variables.

        With ``optional``, it may look up a part of an answer that may be left out.
        """
        shapes = self._shapes(place, own)
        for look_up in dict.fromkeys(source.look_ups):
            if problem := self._problem(look_up, shapes, place, optional=optional):
                yield where, f"{look_up.path}: {problem}"
        yield from _truths(source.truths, where, shapes)
        for path, value in source.comparisons:
            if (shape := _shape_in(path, shapes)) and not _can_be(shape, value):
                yield where, f"{path} is never {value}; it is {shape.sketch().strip('<>')}"

    def _problem(self, look_up: LookUp, shapes: Shapes, place: _NodePlace, *, optional: bool) -> str:
        """Return the reason why a look-up may find nothing; empty if it always finds a value."""
        first, _, rest = look_up.path.partition(".")
        if first == DATABASE:
            return "" if look_up.may_be_missing or not rest else self._path_problem(rest)
        if first not in shapes:
            problem = self._node_problem(first, place)
            return (
                problem if first in self._by_name else f"{problem} Values of the database are {DATABASE}.{look_up.path}"
            )
        try:
            shape = shapes[first].part(rest)
        except KeyError as error:
            return f"its answer has no {error.args[0]}; expected is {shapes[first].sketch()}"
        if shape.optional and not (optional or look_up.may_be_missing):
            return "this may be left out of the answer; write what stands in its place, with | default(...)"
        return ""

    def _path_problem(self, path: str) -> str:
        """Return the reason why a path of the database never exists; empty if it may exist."""
        initial = self._file.initial
        known = [*paths_of(initial), *(stored for stored, _ in self._stored)]
        if any(f"{other}.".startswith(f"{path}.") for other in known):
            return ""
        for stored, shape in self._stored:
            if path.startswith(f"{stored}."):
                found = _shape(path.removeprefix(f"{stored}."), shape)
                return "" if found else f"what is stored at {stored} is {shape.sketch()}"
        if (parent := path.rpartition(".")[0]) and _has_parts(initial, parent):
            return ""  # a node or hook may fill it
        similar = nearest(path, known)
        if not self._whole and similar == ".":
            return ""  # a part that could not be read may set it
        return f"nothing sets {path}{similar} Store it, or give it a value in `database:` or `inputs:`"


def _stores(place: _NodePlace) -> Iterator[tuple[str, Shape, Where]]:
    """Yield each path at which a node stores a value, with the shape of the value and the place in the file."""
    for path, part in place.node.store.items():
        yield path, _part(place.node, part) or Shape(ANY), (*place.where, "store", path)
    if (loop := place.node.loop) and loop.store:
        yield loop.store, Shape(LIST, inner=loop.node.expect), (*place.where, "each", "store")


def _part(node: GraphNode, part: Expression) -> Shape | None:
    """Return the shape of a plain part of the answer; None for another expression, or a part that cannot exist."""
    first, _, rest = part.source.strip().partition(".")
    is_plain = [look_up.path for look_up in part.look_ups] == [part.source.strip()]
    return _shape(rest, node.expect) if is_plain and first == ANSWER else None


def _truths(paths: tuple[str, ...], where: Where, shapes: Shapes) -> Iterator[PlacedFault]:
    for path in paths:
        if (shape := _shape_in(path, shapes)) and shape.kind == YES_NO:
            yield where, f'{path} is "yes" or "no", and both count as true; write {path} == "yes"'


def _can_be(shape: Shape, value: JsonValue) -> bool:
    """Return True if an answer of that shape can be equal to a constant."""
    if value is None or shape.kind in (CODE, ANY):
        return True
    try:
        return not isinstance(value, bool) and shape.check(value) == value
    except ValueError:
        return False


def _shape_in(path: str, shapes: Shapes) -> Shape | None:
    """Return the shape of an answer or of a part of it; None for anything else."""
    first, _, rest = path.partition(".")
    return _shape(rest, shapes[first]) if first in shapes else None


def _shape(path: str, shape: Shape) -> Shape | None:
    """Return the shape of a part; None if there is no such part."""
    try:
        return shape.part(path)
    except KeyError:
        return None


def _has_parts(values: dict[str, JsonValue], path: str) -> bool:
    try:
        return isinstance(part_at(values, path), dict | list)
    except KeyError:
        return False
