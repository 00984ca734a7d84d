"""What a procedure must be: definitions, among them solve(agent, task), that act only when they are called."""

import ast

from planbook.sandbox.check.report import Report
from planbook.sandbox.check.usage import Usage
from planbook.sandbox.reading.scopes import Scope, ScopeKind

SOLVE = "solve"
PARAMETERS = ["agent", "task"]


def check_solve(tree: ast.Module, usage: Usage, report: Report) -> None:
    """Report a missing or wrong solve, and actions outside of functions."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == SOLVE]
    if not found:
        hint = "define it at the top level of the file; helpers and constants may stand beside it"
        report.add(None, "procedure", "a procedure must define solve(agent, task)", hint)
    for node in found:
        a = node.args
        names = [argument.arg for argument in (*a.posonlyargs, *a.args)]
        if names != PARAMETERS or a.vararg or a.kwarg or a.kwonlyargs:
            report.add(
                node, "procedure", "solve must have exactly the parameters agent and task", "def solve(agent, task):"
            )
    for call, scope in usage.scopes.calls:
        if not _in_function(scope) and usage.path(call.func, scope) in usage.api.by_name:
            message = "a procedure acts inside solve and its helpers only"
            report.add(call, "procedure", message, "move the call into solve")


def _in_function(scope: Scope | None) -> bool:
    while scope is not None and scope.kind is not ScopeKind.FUNCTION:
        scope = scope.parent
    return scope is not None
