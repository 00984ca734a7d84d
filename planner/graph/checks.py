"""Checks of a whole graph file, in addition to pydantic's checks of its parts.

They find unknown names, cycles, look-ups of database paths that nothing sets, and values that do not have the expected
shape (the form of an answer, such as a number or a list).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs import YamlPath
from planbook.planner.errors import GraphError
from planbook.planner.graph.database import part_at, paths_of
from planbook.planner.graph.graph import whole_graph
from planbook.planner.graph.hooking import hook_problem
from planbook.planner.graph.node import ANSWER, GraphFile, GraphNode
from planbook.planner.graph.shapes import ANY, CODE, LIST, YES_NO, Shape
from planbook.planner.graph.template_syntax import LookUp, suggestion
from planbook.planner.graph.templating import DATABASE, Expression, Template

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
RESERVED = frozenset(
    {DATABASE, ANSWER, "loop", "self", *"true false none True False None and or not in is if else".split()}
)
AGENT_VALUES: Mapping[str, tuple[str, ...]] = {
    "world": tuple("goal about action_docs manual scene observation previous state knowledge left".split()),
    "last": ("code", "feedback"),
    "step": ("number", "nth", "most", "actions"),
}
"""Maps database paths that exist only in graphs that play an environment (those with the key ``code``) to the names of
the values there."""
PlacedFault = tuple[YamlPath, str]
"""A path in the YAML file, and the problem at this path."""
MAX_NODES = 200
"""Maximum number of nodes in a graph file, including those of branches and loops. Checking more would take too long."""
ShapesByName = Mapping[str, Shape]
"""Maps the names of variables to the shapes (forms) of their values."""


class _NodePlace(NamedTuple):
    """A node, its place in the file, and the nodes that it may refer to."""

    node: GraphNode
    where: YamlPath
    visible: frozenset[str]
    """The names of the nodes that this node may wait for."""
    parent: str = ""
    """For a node in a branch: the name of the node that the branch belongs to. Otherwise empty."""


def check_file(file: GraphFile, folder: Path, *, is_complete: bool) -> Iterator[PlacedFault]:
    """Yield the faults that pydantic does not find. ``is_complete`` is False if faulty parts were removed before.

    ``folder`` is the folder of the graph file. Paths of hook files are relative to it.
    """
    if (count := len(file.all_nodes)) > MAX_NODES:
        yield ("nodes",), f"there are {count:,} nodes; at most {MAX_NODES} are allowed"
        return
    visible = frozenset(file.nodes)
    places = [place for node in file.nodes.values() for place in _places(node, ("nodes",), visible)]
    checks = _Checks(file, places, is_complete=is_complete)
    yield from _check_names(file, places, is_complete=is_complete)
    for place in places:
        yield from checks.node_faults(place)
        loop = place.node.loop
        for node, where in ((place.node, place.where), (loop and loop.node, (*place.where, "each", "node"))):
            for key, name in node.hooks.items() if node else ():
                if problem := hook_problem(name, folder):
                    yield (*where, key), problem


def _places(node: GraphNode, where: YamlPath, visible: frozenset[str], parent: str = "") -> Iterator[_NodePlace]:
    """Yield the places of a node and of all nodes in its branches. ``where`` is the YAML path above the node's key."""
    where = (*where, node.name)
    yield _NodePlace(node, where, visible, parent)
    for number, branch in enumerate(node.branches):
        for inner in branch.nodes.values():
            yield from _places(inner, (*where, "if", number, "nodes"), visible | set(branch.nodes), node.name)


def _check_names(file: GraphFile, places: list[_NodePlace], *, is_complete: bool) -> Iterator[PlacedFault]:
    """Yield faults in ``code``, in the names of nodes, and in the order of nodes (cycles)."""
    if file.code is not None and file.code not in file.nodes:
        yield ("code",), f"there is no node {file.code}{suggestion(file.code, file.nodes)}"
    elif file.code is not None and file.nodes[file.code].expect.kind not in ((CODE,) if is_complete else (CODE, ANY)):
        yield ("nodes", file.code, "expect"), "this node is the graph's `code` node; write `expect: code`"
    names = [place.node.name for place in places]
    for number, place in enumerate(places):
        if place.node.name in names[:number]:
            yield place.where, f"another node is already named {place.node.name}; give this one a different name"
    if len(set(names)) == len(names) and all(map(NAME.fullmatch, names)):  # otherwise the graph cannot be built
        yield from _cycles(file, places)


def _cycles(file: GraphFile, places: list[_NodePlace]) -> Iterator[PlacedFault]:
    graph = whole_graph(file)
    for missing in {name for edge in graph.edges() for name in edge[:2]} - set(graph.nodes):
        graph.add_node(GraphNode(name=missing, prompt="?"))  # another check reports the missing node
    with graph.open_pass():
        while True:
            try:
                graph.layers()
            except GraphError as error:
                first_node = str(error).partition("cycle: ")[2].partition(" ")[0]
                name = first_node.partition(":")[0]
                yield next(place.where for place in places if place.node.name == name), str(error)
                graph.leave_out_node(first_node)  # to find the other cycles
            else:
                return


class _Checks:
    """Checks the look-ups of each node in the database and in the answers of other nodes, and its stored values."""

    def __init__(self, file: GraphFile, places: list[_NodePlace], *, is_complete: bool) -> None:
        self._file, self._places, self._is_complete = file, places, is_complete
        self._by_name = {place.node.name: place for place in places}
        self._stored = list(self._stored_shapes())
        """The database paths at which nodes store values, with the values' shapes. A path may occur twice."""
        self._agent_values = AGENT_VALUES if file.code is not None else {}
        agent_paths = [f"{group}.{name}" for group, names in self._agent_values.items() for name in names]
        has_finish_hook = any(node.finish for node in file.all_nodes)  # a finish hook may store more in each group
        self._open_paths = {*file.inputs, *(self._agent_values if has_finish_hook else agent_paths)}
        """Paths whose values are unknown until the graph runs. Their values may have any parts."""
        stored_paths = (path for path, _ in self._stored)
        self._known_paths = [*paths_of(file.initial_values), *self._agent_values, *self._open_paths, *stored_paths]

    def _stored_shapes(self) -> Iterator[tuple[str, Shape]]:
        for node in (place.node for place in self._places):
            for path, part in node.store.items():
                yield path, self._part_shape(node, part) or Shape(ANY)
            if node.loop and node.loop.store:
                yield node.loop.store, Shape(LIST, inner=node.loop.node.expect)

    def _part_shape(self, node: GraphNode, part: Expression) -> Shape | None:
        """Return the shape of the part of an answer that an expression such as ``answer.steps`` selects.

        Return None if the expression is not of this form, or if the answer has no such part.
        """
        (look_up, *other_look_ups), source = part.look_ups or (LookUp(""),), part.source.strip()
        if other_look_ups or look_up.path != source or look_up.path.partition(".")[0] != ANSWER:
            return None
        return node.expect.part(source.partition(".")[2])

    def node_faults(self, place: _NodePlace) -> Iterator[PlacedFault]:
        """Yield the faults of one node, except those of its hooks."""
        node, where, loop = place.node, place.where, place.node.loop
        if not NAME.fullmatch(node.name) or node.name in RESERVED:
            yield where, f"{node.name!r} cannot be the name of a node: write a word made of letters, digits and _"
        yield from self._unknown_node_faults(node.after, (*where, "after"), place)
        for key, text in node.texts.items():
            yield from self._source_faults(text, (*where, key), place, {}, optional=False)
        if node.when:
            yield from self._condition_faults(node.when, (*where, "when"), place, {})
        local_shapes = {ANSWER: node.expect}
        for path, part in node.store.items():
            yield from self._source_faults(part, (*where, "store", path), place, local_shapes)
        for number, branch in enumerate(node.branches):
            yield from self._unknown_node_faults(branch.before, (*where, "if", number, "before"), place)
            yield from self._condition_faults(branch.when, (*where, "if", number, "when"), place, local_shapes)
        if loop:
            at_loop = (*where, "each")
            yield from self._unknown_node_faults(loop.before, (*at_loop, "before"), place)
            yield from self._unknown_node_faults(loop.node.after, (*at_loop, "node", "after"), place)
            yield from self._source_faults(loop.items, (*at_loop, "in"), place, local_shapes)
            items = self._part_shape(node, loop.items)
            if items and items.kind not in (LIST, ANY):
                yield (*at_loop, "in"), f"{loop.items} is not a list; it is {items.sketch()}"
            if not NAME.fullmatch(loop.name) or loop.name in RESERVED:
                yield (*at_loop, "as"), f"{loop.name!r} cannot be the name of an item; write one word, such as item"
            item = {loop.name: (items and items.inner) or Shape(ANY)}
            for key, text in loop.node.texts.items():
                yield from self._source_faults(text, (*at_loop, "node", key), place, item, optional=False)

    def _unknown_node_faults(self, names: tuple[str, ...], where: YamlPath, place: _NodePlace) -> Iterator[PlacedFault]:
        """Yield a fault for each name that is not visible at ``place``."""
        for name in names:
            if problem := self._node_problem(name, place):
                yield where, problem

    def _node_problem(self, name: str, place: _NodePlace) -> str:
        if name in place.visible:
            return ""
        other = self._by_name.get(name)
        if other and other.parent:
            return f"{name} exists only in a branch of {other.parent}; write before: [{place.node.name}] there"
        return f"there is no node {name}{suggestion(name, place.visible)}"

    def _condition_faults(
        self, source: Expression, where: YamlPath, place: _NodePlace, local_shapes: ShapesByName
    ) -> Iterator[PlacedFault]:
        yield from self._source_faults(source, where, place, local_shapes, optional=False)
        yield from _yes_no_conditions(source.condition_paths, where, self._shapes(place, local_shapes))

    def _shapes(self, place: _NodePlace, local_shapes: ShapesByName) -> ShapesByName:
        return {**{name: self._by_name[name].node.expect for name in place.visible}, **local_shapes}

    def _source_faults(
        self,
        source: Template | Expression,
        where: YamlPath,
        place: _NodePlace,
        local_shapes: ShapesByName,
        *,
        optional: bool = True,
    ) -> Iterator[PlacedFault]:
        """Yield the faults of a template or an expression.

        ``local_shapes`` maps the variables that only this template or expression can use, such as ``answer``, to their
        shapes. With ``optional``, optional parts of answers need no default.
        """
        shapes = self._shapes(place, local_shapes)
        for look_up in dict.fromkeys(source.look_ups):
            if problem := self._look_up_problem(look_up, shapes, place, optional=optional):
                yield where, f"{look_up.path}: {problem}"
        yield from _yes_no_conditions(source.tested_paths, where, shapes)

    def _look_up_problem(self, look_up: LookUp, shapes: ShapesByName, place: _NodePlace, *, optional: bool) -> str:
        """Return the reason why a look-up may find nothing, or "" if it always finds a value."""
        root, _, subpath = look_up.path.partition(".")
        if root == DATABASE:
            return "" if look_up.may_be_missing or not subpath else self._path_problem(subpath)
        if root not in shapes:
            problem = self._node_problem(root, place)
            is_node = root in self._by_name
            return problem if is_node else f"{problem} For a value in the database, write {DATABASE}.{look_up.path}"
        shape = shapes[root].part(subpath)
        if shape is None:
            return f"its answer has no {subpath}; it is {shapes[root].sketch()}"
        if shape.optional and not (optional or look_up.may_be_missing):
            return "this field is optional; give it a default, with | default(...)"
        return ""

    def _path_problem(self, path: str) -> str:
        """Return the reason why a database path can never have a value, or "" if it may have one."""
        is_open = any(path.startswith(f"{open_path}.") for open_path in self._open_paths)
        if is_open or any(f"{known_path}.".startswith(f"{path}.") for known_path in self._known_paths):
            return ""
        parents = [(parent, shape) for parent, shape in self._stored if path.startswith(f"{parent}.")]
        if any(shape.part(path.removeprefix(f"{parent}.")) for parent, shape in parents):
            return ""
        if parents:
            parent, shape = parents[-1]
            return f"the value at {parent} is {shape.sketch()}"
        parent = path.rpartition(".")[0]
        if parent and isinstance(_value_or_none(self._file.initial_values, parent), dict | list):
            return ""  # a node or hook may fill it
        similar = suggestion(path, self._known_paths)
        if not self._is_complete and similar == ".":
            return ""  # a faulty part of the file, which was removed, may set it
        group, _, name = path.partition(".")
        if names := self._agent_values.get(group):
            return f"nothing sets {path}{suggestion(name, names)} The values there are {', '.join(names)}"
        return f"nothing sets {path}{similar} Store it, or give it a value in `database:` or `inputs:`"


def _yes_no_conditions(paths: tuple[str, ...], where: YamlPath, shapes: ShapesByName) -> Iterator[PlacedFault]:
    """Yield a fault for each path in a condition whose value is "yes" or "no", which both count as true."""
    for path in paths:
        root, _, subpath = path.partition(".")
        if root in shapes and (shape := shapes[root].part(subpath)) and shape.kind == YES_NO:
            yield where, f'{path} is "yes" or "no", which both count as true; write {path} == "yes"'


def _value_or_none(values: dict[str, JsonValue], path: str) -> object:
    try:
        return part_at(values, path)
    except KeyError:
        return None
