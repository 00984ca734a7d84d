"""The part of Jinja that templates in graph files may use, and the look-ups in a template's syntax tree.

A look-up reads a value by its path, such as ``db.plan.goal``. In this module, "node" means a node of the syntax tree.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jinja2 import nodes
from pydantic import JsonValue

from planbook.sandbox import closest

MAX_SYNTAX_NODES = 5_000
"""Maximum number of nodes in the syntax tree of one template."""
MAX_SYNTAX_DEPTH = 200
"""Maximum number of nested levels in the syntax tree of one template."""
FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "join", "last",
    "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "select",
    "selectattr", "sort", "string", "sum", "title", "trim", "truncate", "unique", "upper", "wordcount",
)  # fmt: skip
TESTS = (
    "boolean", "defined", "divisibleby", "eq", "even", "false", "float", "ge", "gt", "in", "integer", "iterable", "le",
    "lower", "lt", "mapping", "ne", "none", "number", "odd", "sequence", "string", "true", "undefined", "upper",
)  # fmt: skip
_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Name, nodes.Const,
    nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Keyword, nodes.CondExpr, nodes.Getattr, nodes.Getitem,
    nodes.Slice, nodes.Filter, nodes.Test, nodes.Compare, nodes.Operand, nodes.UnaryExpr, nodes.BinExpr,
)  # fmt: skip
_REFUSALS = {
    "Call": "functions cannot be called; use a filter",
    "Concat": "~ is not allowed; write {{ a }}{{ b }}",
    "Pow": "** is not allowed",
    "Assign": "set is not allowed; to keep a value, use a node's `store`",
}

_ALWAYS_EVALUATED = {nodes.If: "test", nodes.CondExpr: "test", nodes.For: "iter", nodes.And: "left", nodes.Or: "left"}
"""Maps a kind of node to the name of the only part of the node that is always evaluated.

For example, an ``if`` always evaluates its test, but not always its body.
"""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: ``; did you mean "plan"?`` if a known name is similar, otherwise a full stop."""
    similar = closest(name, known)
    return f'; did you mean "{similar}"?' if similar else "."


class LookUp(NamedTuple):
    """A look-up of a template. ``path`` is its dotted path, such as ``db.plan.goal``."""

    path: str
    may_be_missing: bool = False
    """True if the template allows for a missing value, as in ``db.plan | default("none")``."""
    is_conditional: bool = False
    """True if not every rendering needs the value, for example because the look-up is inside an ``if``."""


def checked_nodes(tree: nodes.Template) -> list[nodes.Node]:
    """Return all nodes of the tree, in the order of the template's text.

    Raises ValueError if the tree is too large or too deep, or if the template uses a construct that is not allowed.
    """
    found: list[nodes.Node] = []
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if problem := _problem(node):
            raise ValueError(problem)
        if len(found) > MAX_SYNTAX_NODES:
            raise ValueError(f"the template has more than {MAX_SYNTAX_NODES:,} elements; split it across several nodes")
        if depth > MAX_SYNTAX_DEPTH:
            raise ValueError("this is nested too deeply")
        found.append(node)
        waiting += reversed([(inner, depth + 1) for inner in node.iter_child_nodes()])
    return found


def _problem(node: nodes.Node) -> str:
    if not isinstance(node, _ALLOWED) or isinstance(node, nodes.Concat | nodes.Pow):
        name = type(node).__name__
        return _REFUSALS.get(name) or f"{name.lower()} is not allowed; use only {{{{ }}}}, if, for, filters and tests"
    if isinstance(node, nodes.BinExpr) and node.operator not in ("and", "or"):
        constants = [operand.value for operand in (node.left, node.right) if isinstance(operand, nodes.Const)]
        if isinstance(node.left, nodes.List | nodes.Tuple) or not all(
            isinstance(constant, int | float) for constant in constants
        ):
            return f"{node.operator} works only on numbers; to build text or a list, use {{{{ }}}}, if and for"
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        return f"there is no filter {node.name}{suggestion(node.name, FILTERS)}"
    if isinstance(node, nodes.Test) and node.name not in TESTS:
        return f"there is no test {node.name}{suggestion(node.name, TESTS)}"
    return "a loop cannot be recursive" if isinstance(node, nodes.For) and node.recursive else ""


def _path(node: nodes.Node) -> str:
    """Return the dotted path of a look-up such as ``db.plan["goal"]``, or "" for any other expression."""
    if isinstance(node, nodes.Name):
        return str(node.name)
    if isinstance(node, nodes.Getattr):
        parent, name = _path(node.node), str(node.attr)
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        parent, name = _path(node.node), str(node.arg.value)
    else:
        return ""
    return f"{parent}.{name}" if parent else ""


def look_ups(node: nodes.Node, *, may_be_missing: bool = False, is_conditional: bool = False) -> Iterator[LookUp]:
    """Yield every look-up in a node and in its inner nodes.

    ``may_be_missing`` and ``is_conditional`` say how the surrounding nodes use this one.
    """
    if path := _path(node):
        yield LookUp(path, may_be_missing, is_conditional)
        return
    always = getattr(node, _ALWAYS_EVALUATED.get(type(node), ""), None)
    optional = (isinstance(node, nodes.Filter) and node.name in ("default", "d")) or (
        isinstance(node, nodes.Test) and node.name in ("defined", "undefined")
    )
    for inner in node.iter_child_nodes():
        yield from look_ups(
            inner,
            may_be_missing=optional and inner is getattr(node, "node", None),
            is_conditional=is_conditional or always not in (None, inner),
        )


def tested_paths(node: nodes.Node) -> Iterator[str]:
    """Yield the paths of the values whose truth a condition tests, such as ``db.plan`` in ``not db.plan``."""
    if isinstance(node, nodes.And | nodes.Or):
        yield from (*tested_paths(node.left), *tested_paths(node.right))
    elif isinstance(node, nodes.Not):
        yield from tested_paths(node.node)
    elif path := _path(node):
        yield path


def comparisons(found: Iterable[nodes.Node]) -> Iterator[tuple[str, JsonValue]]:
    """Yield each path that one of the nodes compares with a constant, together with the constant."""
    for node in (part for part in found if isinstance(part, nodes.Compare)):
        path = _path(node.expr)
        for operand in node.ops[:1] if path else ():
            values = [operand.expr] if operand.op in ("eq", "ne") else []
            if operand.op in ("in", "notin") and isinstance(operand.expr, nodes.List | nodes.Tuple):
                values = operand.expr.items
            yield from ((path, value.value) for value in values if isinstance(value, nodes.Const))
