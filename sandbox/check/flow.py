"""Statements that never run, and plans that do nothing."""

import ast
from collections.abc import Sequence

from planbook.sandbox.check.report import Report
from planbook.sandbox.reading.scopes import Scopes
from planbook.sandbox.reading.statements import acts, does_nothing

_LEAVES = {ast.Return: "return", ast.Raise: "raise", ast.Break: "break", ast.Continue: "continue"}
_STRAYS = {
    ast.Return: ("'return' outside function", "a plan is no function: put the lines into a def and call it"),
    ast.Break: ("'break' outside loop", "break works inside a for or while only"),
    ast.Continue: ("'continue' outside loop", "continue works inside a for or while only"),
}
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def check_flow(scopes: Scopes, report: Report) -> None:
    """Report code behind return, raise, break and continue, and those that stand where Python allows none."""
    for node in scopes.strays:
        report.add(node, "syntax", *_STRAYS[type(node)])
    for block in scopes.blocks:
        _check_block(block, report)


def _check_block(block: Sequence[ast.stmt], report: Report) -> None:
    for number, statement in enumerate(block[:-1]):
        if word := _LEAVES.get(type(statement)):
            dead = next(
                (later for later in block[number + 1 :] if not does_nothing(later) and not _is_yield(later)), None
            )
            if dead is not None:
                hint = f"move it above the {word} in line {statement.lineno}, or leave it out"
                report.add(dead, "unreachable", f"this never runs: it follows {word}", hint)
            return


def check_does_something(tree: ast.Module, report: Report, *, definitions_only: bool) -> None:
    """Report a plan without statements, and, unless allowed, one that defines functions and never calls any."""
    left = [statement for statement in tree.body if not does_nothing(statement)]
    if not left:
        report.add(None, "empty", "the plan does nothing", "write the actions to take")
        return
    defined = [statement.name for statement in left if isinstance(statement, _DEFINES)]
    if defined and not definitions_only and not any(map(acts, left)):
        message = f"the plan defines {', '.join(defined)} and calls nothing, so nothing happens"
        report.add(left[-1], "only-definitions", message, f"call {defined[-1]}(...) at the end of the plan")


def _is_yield(statement: ast.stmt) -> bool:
    """``return`` followed by ``yield`` is how one writes an empty generator."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield | ast.YieldFrom)
