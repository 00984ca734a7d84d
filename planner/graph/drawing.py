"""Draw a prompt graph as Mermaid text, or as an SVG image if Graphviz's ``dot`` program is installed.

All text from the graph is escaped.
"""

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from planbook.envs import MissingRequirement
from planbook.planner.errors import GraphError
from planbook.planner.graph.graph import Graph, whole_graph
from planbook.planner.graph.node import ROLE, GraphFile, GraphNode
from planbook.planner.graph.shapes import EACH, LIST, Shape

Kind = Literal["node", "code", "branch", "loop"]
MAX_LINE = 34
"""Maximum number of characters in a line of a node's box. Longer lines are cut."""
MAX_IMPLIED_ARROWS = 24
"""If a graph has more implied arrows than this, none of them is drawn. Each box then shows how many are missing.

An arrow is implied if other arrows already lead from its source to its target through other nodes.
"""
DOT_TIMEOUT = 60
"""Time limit for Graphviz, in seconds."""
_MERMAID = {"node": '["{}"]', "code": '[["{}"]]', "branch": '(["{}"])', "loop": '[/"{}"/]'}
_DOT = {
    "node": 'style="filled", fillcolor="#f5f7fa"',
    "code": 'style="filled,bold", fillcolor="#e3f8ee"',
    "branch": 'style="filled,rounded,dashed", fillcolor="#fff8e6"',
    "loop": 'style="filled,diagonals", fillcolor="#eef2ff"',
}
_ARROWS = {"answer": ("-->", "solid"), "order": ("-.->", "dotted"), "branch": ("==>", "dashed")}


class _DrawnNode(NamedTuple):
    """The box of a node: a line with its name, and a line for each property that is not at its default."""

    kind: Kind
    lines: tuple[str, ...]


class _Arrow(NamedTuple):
    source: str
    target: str
    kind: Literal["answer", "order", "branch"]
    label: str = ""
    implied: bool = False


def mermaid(file: GraphFile) -> str:
    """Return the graph as a Mermaid flowchart.

    The box with double walls is the node that writes plan code. Nodes of branches have rounded boxes, and nodes of
    loops have slanted boxes.
    """
    boxes, arrows = _boxes_and_arrows(file)
    ids = {name: f"n{number}" for number, name in enumerate(boxes)}
    lines = ["flowchart TD"]
    for name, box in boxes.items():
        lines.append(f"  {ids[name]}{_MERMAID[box.kind].format('<br/>'.join(map(_for_mermaid, box.lines)))}")
    for arrow in arrows:
        label = f'|"{_for_mermaid(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  {ids[arrow.source]} {_ARROWS[arrow.kind][0]}{label} {ids[arrow.target]}")
    return "\n".join(lines) + "\n"


def dot(file: GraphFile) -> str:
    """Return the graph in DOT, the language of Graphviz."""
    boxes, arrows = _boxes_and_arrows(file)
    ids = {name: f"n{number}" for number, name in enumerate(boxes)}
    lines = ["digraph {", f"  label={_quoted(file.about or file.name)}; labelloc=t; fontname=Helvetica;"]
    lines += ["  node [shape=box, fontname=Helvetica, fontsize=11]; edge [fontname=Helvetica, fontsize=10];"]
    for name, box in boxes.items():
        lines.append(f"  {ids[name]} [label={_quoted(*box.lines)}, {_DOT[box.kind]}];")
    for arrow in arrows:
        style = _ARROWS[arrow.kind][1]
        lines.append(f"  {ids[arrow.source]} -> {ids[arrow.target]} [label={_quoted(arrow.label)}, style={style}];")
    return "\n".join([*lines, "}", ""])


def svg(file: GraphFile) -> str:
    """Return the graph as an SVG image, made by Graphviz.

    Raises MissingRequirement if Graphviz is not installed, and GraphError if it fails.
    """
    program = shutil.which("dot")
    if program is None:
        raise MissingRequirement(
            "drawing an SVG needs Graphviz, which is not installed: install it (`apt install graphviz`), "
            "or draw Mermaid text to a file whose name does not end in .svg"
        )
    try:
        finished = subprocess.run(
            [program, "-Tsvg"], input=dot(file), capture_output=True, encoding="utf-8", timeout=DOT_TIMEOUT, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise GraphError(f"Graphviz could not draw the graph: {error}") from error
    return finished.stdout


def _boxes_and_arrows(file: GraphFile) -> tuple[dict[str, _DrawnNode], list[_Arrow]]:
    """Return the box of each node, including the nodes of branches and loops, and the arrows between the boxes."""
    graph, inner = whole_graph(file), dict(_inner_nodes(file))
    kinds: dict[str, Kind] = {name: kind for name, (kind, _) in inner.items()}
    arrows = list(_arrows(graph, {name: label for name, (_, label) in inner.items()}))
    implied = [arrow.target for arrow in arrows if arrow.implied]
    hidden = Counter(implied if len(implied) > MAX_IMPLIED_ARROWS else ())
    boxes = {}
    for name, node in graph.nodes.items():
        lines = [name, *_properties(node), *([f"{hidden[name]} more answers"] if hidden[name] else [])]
        boxes[name] = _DrawnNode("code" if name == file.code else kinds.get(name, "node"), tuple(map(_short, lines)))
    return boxes, [arrow for arrow in arrows if not (hidden and arrow.implied)]


def _inner_nodes(file: GraphFile) -> Iterator[tuple[str, tuple[Kind, str]]]:
    """Yield the name of each node of a branch or loop, with the kind of its box and the label of the arrow to it."""
    for node in file.all_nodes:
        if not isinstance(node, GraphNode):
            continue
        for branch in node.branches:
            yield from ((name, ("branch", f"if {branch.when}")) for name in branch.nodes)
        if loop := node.loop:
            yield f"{node.name}:{loop.name}", ("loop", f"for each {loop.name} of {loop.items}")


def _arrows(graph: Graph, labels: Mapping[str, str]) -> Iterator[_Arrow]:
    edges = graph.edges()
    successors: dict[str, set[str]] = {name: set() for name in graph.nodes}
    for edge in edges:
        successors[edge.source].add(edge.target)
    descendants: dict[str, set[str]] = {}
    for name in (name for layer in reversed(graph.layers()) for name in layer):
        descendants[name] = successors[name].union(*(descendants[target] for target in successors[name]))
    for edge in edges:
        implied = any(edge.target in descendants[target] for target in successors[edge.source])
        if edge.target in labels and not edge.shows_answer:
            yield _Arrow(edge.source, edge.target, "branch", _short(labels[edge.target]))
        elif edge.shows_answer or not implied:
            yield _Arrow(edge.source, edge.target, "answer" if edge.shows_answer else "order", implied=implied)


def _properties(node: GraphNode) -> Iterator[str]:
    """Yield a line for each property that is not at its default, such as the condition or the role."""
    if node.expect.kind != "text":
        yield _describe_shape(node.expect)
    if node.when:
        yield f"if {node.when}"
    if node.every > 1:
        yield f"every {node.every} passes"
    if node.model != ROLE:
        yield f"asks {node.model}"
    if node.store:
        yield f"stores {', '.join(node.store)}"
    if node.hooks:
        yield f"runs {', '.join(node.hooks.values())}"


def _describe_shape(shape: Shape) -> str:
    if shape.kind in (LIST, EACH) and shape.inner:
        return f"{'a list' if shape.kind == LIST else 'by name'}: {_describe_shape(shape.inner)}"
    return ", ".join(shape.choices or shape.fields) or shape.kind


def _short(text: str) -> str:
    return text if len(text) <= MAX_LINE else f"{text[: MAX_LINE - 1]}…"


def _for_mermaid(text: str) -> str:
    """Return the text with special characters replaced by Mermaid entities, such as ``#34;`` for a quote."""
    return "".join(char if char.isalnum() or char in " .,:_-/()?" else f"#{ord(char)};" for char in text)


def _quoted(*lines: str) -> str:
    """Return the lines as one string of the DOT language, without characters that XML does not allow."""
    allowed = (
        "".join(char for char in line if char == "\n" or (char >= " " and not "\ud800" <= char <= "\udfff"))
        for line in lines
    )
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for line in allowed)
    return '"' + "\\n".join(escaped) + '"'


GRAPH_FORMATS: Mapping[str, Callable[[GraphFile], str]] = {"mermaid": mermaid, "svg": svg}
"""Maps the name of each format to the function that draws a graph in this format."""
