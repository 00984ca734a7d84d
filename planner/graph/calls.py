"""The calls of actions that stand in plan code."""

import ast

from planbook.planner.action_docs import AGENT
from planbook.sandbox.reading import parse
from planbook.sandbox.types import Fault


def calls_in(code: str) -> list[str]:
    """The calls of ``agent``, as they are written, in order; none in code that cannot be parsed."""
    tree = parse(code)
    if isinstance(tree, Fault):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _of_agent(node.func)]
    return [ast.unparse(call) for call in found]


def _of_agent(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == AGENT
