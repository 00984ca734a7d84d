"""The places in a plan's code that may act, whether or not a walk came to them."""

import ast
from collections.abc import Collection, Iterator

from planbook.sandbox.dry import bodies

_METHODS = frozenset(name for kind in (str, list, dict, set, tuple) for name in dir(kind))


def sites(
    tree: ast.AST, functions: Collection[str], acting: Collection[str], handed_on: Collection[str]
) -> Iterator[int]:
    """The ids of the nodes that call one of the given functions, or hand it on to be called by others.

    ``acting`` are the names that stand for what is given, ``handed_on`` the functions that something unknown has. A
    call of a method of that name counts too (``self.agent.open``), unless Python's own types or classes of the plan
    have such a method.
    """
    names = {name.rpartition(".")[2] for name in functions}
    doubtful = _METHODS | {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found = _may_act(node, functions, names - doubtful, names, acting)
        else:
            found = isinstance(node, ast.Attribute) and id(node) not in called and ast.unparse(node) in handed_on
        if found:
            yield id(node)


def _may_act(
    node: ast.Call, functions: Collection[str], clear: Collection[str], names: Collection[str], acting: Collection[str]
) -> bool:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in clear or (node.func.attr in names and bodies.mentions(node.func.value, acting))
    if not isinstance(node.func, ast.Name):
        return False
    by_name = node.func.id == "getattr" and bool(node.args) and bodies.mentions(node.args[0], acting)
    return by_name or node.func.id in functions
