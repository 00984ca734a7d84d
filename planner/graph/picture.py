"""What there is to draw of a graph: a box for each node, an arrow for each edge, branches and loops among them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from planbook.planner.graph.file import GraphFile
from planbook.planner.graph.graph import Edge, Graph
from planbook.planner.graph.node import ROLE, IfBranch, Node
from planbook.planner.graph.shape import EACH, LIST, Shape

BoxKind = Literal["node", "code", "branch", "loop"]
ArrowKind = Literal["told", "order", "branch"]
MANY = 24
"""Implied arrows; where there are more, they are left out, and the boxes say how many answers more they are told."""
LONGEST = 34
"""Characters of a line in a box; the whole of it is in the box's tooltip."""


@dataclass(frozen=True)
class Box:
    """A node: its name, short lines on what is special about it, and the whole for whoever points at it."""

    name: str
    kind: BoxKind
    lines: tuple[str, ...]
    tooltip: str


@dataclass(frozen=True)
class Arrow:
    """An edge. One that is ``implied`` follows from others: its answer is told as well, and the order is clear."""

    source: str
    target: str
    kind: ArrowKind
    label: str = ""
    implied: bool = False


@dataclass(frozen=True)
class Picture:
    """Boxes in order of definition, arrows between them, and the layers in which the nodes come."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    layers: tuple[tuple[str, ...], ...]


def picture(file: GraphFile) -> Picture:
    """The graph of a file with every branch and loop in it."""
    graph, boxes, labels = Graph(), list[Box](), dict[tuple[str, str], str]()
    for node in file.nodes:
        for each, kind in _with_inner(node):
            graph.add_node(each)
            boxes.append(_box(each, "code" if each.name == file.code else kind))
    for node in list(graph.nodes.values()):
        for branch in node.branches:
            _lead(graph, node, branch.nodes, branch.before)
            labels |= {
                (node.name, inner.name): _if(branch) for inner in branch.nodes
            }  # those without an edge go unused
        if node.loop:
            _lead(graph, node, (node.loop.node,), node.loop.before)
            labels[node.name, node.loop.node.name] = f"for each {node.loop.name} of {node.loop.items}"
    layers, arrows = tuple(map(tuple, graph.layers())), list(_arrows(graph, labels))
    implied = [arrow for arrow in arrows if arrow.implied]
    if len(implied) > MANY:
        arrows = [arrow for arrow in arrows if not arrow.implied]
        boxes = [_telling(box, [arrow.source for arrow in implied if arrow.target == box.name]) for box in boxes]
    return Picture(file.about or file.name, tuple(boxes), tuple(arrows), layers)


def _with_inner(node: Node) -> Iterator[tuple[Node, BoxKind]]:
    yield node, "node"
    for branch in node.branches:
        for inner in branch.nodes:
            yield from ((each, "branch" if kind == "node" else kind) for each, kind in _with_inner(inner))
    if node.loop:
        yield node.loop.node, "loop"


def _lead(graph: Graph, node: Node, inner: tuple[Node, ...], before: tuple[str, ...]) -> None:
    """The edges of a branch or a loop, from the node that has it and to those that wait for it."""
    awaited = {name for each in inner for name in (*each.after, *each.needs)}
    names = {each.name for each in inner}
    for each in inner:
        if names.isdisjoint((*each.after, *each.needs)):
            graph.add_edge(node.name, each.name, told=False)
        for name in before if each.name not in awaited else ():
            graph.add_edge(each.name, name)


def _arrows(graph: Graph, labels: dict[tuple[str, str], str]) -> Iterator[Arrow]:
    edges = graph.edges()
    later: dict[str, set[str]] = {}
    for layer in reversed(graph.layers()):
        for name in layer:
            follow = [edge.target for edge in edges if edge.source == name]
            later[name] = set(follow).union(*(later[each] for each in follow))
    for edge in edges:
        ends = edge[:2]
        others = {other.target for other in edges if other.source == edge.source} - {edge.target}
        implied = any(edge.target in later[other] for other in others)
        if ends in labels:
            yield Arrow(*ends, "branch", labels[ends])
        elif edge.told or not implied:
            yield Arrow(*ends, _kind(edge), "", implied)


def _kind(edge: Edge) -> ArrowKind:
    return "told" if edge.told else "order"


def _box(node: Node, kind: BoxKind) -> Box:
    lines = tuple(map(short, _about(node)))
    return Box(node.name, kind, lines, "\n".join([node.name, *_about(node), "", node.prompt.strip()]))


def _telling(box: Box, told: list[str]) -> Box:
    """The box with how many answers it is told beside those that arrows lead from."""
    if not told:
        return box
    tooltip = f"{box.tooltip}\n\nIt is told these, too: {', '.join(told)}."
    return replace(box, lines=(*box.lines, f"told {len(told)} more"), tooltip=tooltip)


def _about(node: Node) -> Iterator[str]:
    """What is said of a node in its box."""
    if node.expect.kind != "text":
        yield _form(node.expect)
    if node.when:
        yield f"if {node.when}"
    if node.every > 1:
        yield f"every {node.every} passes"
    if node.model != ROLE:
        yield f"asks {node.model}"
    if node.store:
        yield f"stores {', '.join(node.store)}"
    hooks = [name for name in (node.compose, node.check, node.finish) if name]
    if hooks:
        yield f"runs {', '.join(hooks)}"


def _form(shape: Shape) -> str:
    if shape.kind == LIST and shape.inner:
        return f"a list: {_form(shape.inner)}"
    if shape.kind == EACH and shape.inner:
        return f"by name: {_form(shape.inner)}"
    return ", ".join(shape.choices or shape.fields) or shape.kind


def _if(branch: IfBranch) -> str:
    return f"if {branch.when}".replace("if answer ", "if it ")


def short(text: str) -> str:
    """A line that fits into a box."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
