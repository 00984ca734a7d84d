"""A graph as Mermaid text. All text is escaped."""

from collections.abc import Iterator, Mapping

from planbook.planner.graph.answers import EACH, LIST, Shape
from planbook.planner.graph.checks import whole_graph
from planbook.planner.graph.graph import Edge
from planbook.planner.graph.node import ROLE, GraphFile, GraphNode

LONGEST = 34
"""Characters of a line in a box."""
NODE, CODE, BRANCH, LOOP = '["{}"]', '[["{}"]]', '(["{}"])', '[/"{}"/]'


def mermaid(file: GraphFile) -> str:
    """Return a flowchart for Mermaid: double walls are the code, rounded a branch, slanted a loop."""
    graph, inner = whole_graph(file), dict(_inner(file))
    ids = {name: f"n{number}" for number, name in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for name, node in graph.nodes.items():
        box = CODE if name == file.code else inner[name][0] if name in inner else NODE
        lines.append(f"  {ids[name]}{box.format('<br/>'.join(map(_escaped, (name, *_about(node)))))}")
    labels = {name: label for name, (_, label) in inner.items()}
    lines += [f"  {ids[edge.source]} {_arrow(edge, labels)} {ids[edge.target]}" for edge in graph.edges()]
    return "\n".join(lines) + "\n"


def _inner(file: GraphFile) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the nodes of branches and loops: the box, and the condition or the list that they depend on."""
    for node in file.every_node:
        if not isinstance(node, GraphNode):
            continue
        for branch in node.branches:
            yield from ((name, (BRANCH, f"if {branch.when}")) for name in branch.nodes)
        if loop := node.loop:
            yield f"{node.name}:{loop.name}", (LOOP, f"for each {loop.name} of {loop.items}")


def _arrow(edge: Edge, labels: Mapping[str, str]) -> str:
    if edge.told:
        return "-->"
    return f'==>|"{_escaped(labels[edge.target])}"|' if edge.target in labels else "-.->"


def _about(node: GraphNode) -> Iterator[str]:
    """Yield what is special about a node."""
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
    if node.hooks:
        yield f"runs {', '.join(node.hooks.values())}"


def _form(shape: Shape) -> str:
    if shape.kind in (LIST, EACH) and shape.inner:
        return f"{'a list' if shape.kind == LIST else 'by name'}: {_form(shape.inner)}"
    return ", ".join(shape.choices or shape.fields) or shape.kind


def _escaped(text: str) -> str:
    """Return a short text with entities as Mermaid writes them; in quotes nothing else has a meaning."""
    short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(each if each.isalnum() or each in " .,:_-/()?" else f"#{ord(each)};" for each in short)
