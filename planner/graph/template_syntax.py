"""Find the look-ups in a template of a graph file.

A look-up reads a value by its path, such as ``db.plan.goal``. In this module, "node" means a node of the syntax tree.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jinja2 import nodes

from planbook.sandbox import closest


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: ``; did you mean "plan"?`` if a known name is similar, otherwise a full stop."""
    similar = closest(name, known)
    return f'; did you mean "{similar}"?' if similar else "."


class LookUp(NamedTuple):
    """A look-up in a template. ``path`` is its dotted path, such as ``db.plan.goal``."""

    path: str
    may_be_missing: bool = False
    """True if the template allows for a missing value, as in ``db.plan | default("none")``."""


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


def look_ups(node: nodes.Node, *, may_be_missing: bool = False) -> Iterator[LookUp]:
    """Yield every look-up in a node and its inner nodes.

    ``may_be_missing`` is True if the surrounding node allows for a missing value.
    """
    if path := _path(node):
        yield LookUp(path, may_be_missing)
        return
    optional = (isinstance(node, nodes.Filter) and node.name in ("default", "d")) or (
        isinstance(node, nodes.Test) and node.name in ("defined", "undefined")
    )
    for inner in node.iter_child_nodes():
        yield from look_ups(inner, may_be_missing=optional and inner is getattr(node, "node", None))


def tested_paths(node: nodes.Node) -> Iterator[str]:
    """Yield the paths of the values whose truth a condition tests, such as ``db.plan`` in ``not db.plan``."""
    if isinstance(node, nodes.And | nodes.Or):
        yield from (*tested_paths(node.left), *tested_paths(node.right))
    elif isinstance(node, nodes.Not):
        yield from tested_paths(node.node)
    elif path := _path(node):
        yield path
