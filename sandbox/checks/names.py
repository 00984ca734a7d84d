"""Undefined and unbound names, unreachable statements, plans that do nothing. Reports only what is certain."""

import ast
import builtins
from collections.abc import Sequence

from planbook.sandbox.checks.api import Api, Report
from planbook.sandbox.policy.rules import NAME_HINTS
from planbook.sandbox.reading.definitions import ANY_NAME
from planbook.sandbox.reading.growing import acts, does_nothing
from planbook.sandbox.reading.scopes import ANY_TIME, Binding, Guard, NameScope, ScopeKind, Scopes, Use
from planbook.sandbox.suggest import Guess

# Names.

BUILTINS = frozenset(dir(builtins)) - {"copyright", "credits", "license"}
"""The language policy reports those that plans do not have, with what to write instead."""


def check_names(scopes: Scopes, api: Api, report: Report) -> None:
    """Report every use of a name that has no value there."""
    given, any_name = api.roots | api.names, scopes.star_import or ANY_NAME in api.names
    known, bound_before = given | BUILTINS, given | (BUILTINS - NAME_HINTS.keys())
    for use in scopes.uses:
        if report.full:
            return
        name = use.node.id
        if use.annotation or (name.startswith("__") and name.endswith("__")):
            continue  # annotations may be undefined; special names are checked by the language policy
        scope, deferred = scopes.find(name, use.scope)
        if not api.whole and (deferred or use.guard is not Guard.NONE or not _is_certain(scope)):
            continue
        if scope is None:
            if name not in known and use.guard is not Guard.NAME_ERROR and not any_name:
                hint = _hint(name, use, scopes, api, report.guess)
                report.add(use.node, "unknown-name", f"{name} is not defined", hint)
        elif not deferred and not (scope.kind is ScopeKind.MODULE and name in bound_before):
            _check_order(use, scope, report)


def _is_certain(scope: NameScope | None) -> bool:
    """Return whether a part of a plan shows everything that binds a name of this scope."""
    return scope is None or scope.kind is not ScopeKind.MODULE


def _check_order(use: Use, scope: NameScope, report: Report) -> None:
    name, bindings = use.node.id, scope.bindings[use.node.id]
    first = bindings[0]
    if ANY_TIME < first.order < use.order:
        return  # the most frequent case
    if scope.kind is ScopeKind.CLASS or use.guard is not Guard.NONE or any(_may_precede(b, use) for b in bindings):
        return
    report.add(use.node, "unbound-name", f"{name} is read before it gets a value", _order_hint(name, scope))


def _may_precede(binding: Binding, use: Use) -> bool:
    return binding.order < use.order or bool(set(binding.loops) & set(use.loops))  # ANY_TIME is less than all others


def _order_hint(name: str, scope: NameScope) -> str:
    if scope.kind is ScopeKind.FUNCTION:
        return (
            f"a function that assigns {name} has a {name} of its own: give it a value first, or declare global {name}"
        )
    return f"move the line that gives {name} its value above this one"


def _hint(name: str, use: Use, scopes: Scopes, api: Api, guess: Guess) -> str:
    """Return a suggestion: a member of an object, a visible name, a string without quotes."""
    members = {path.rpartition(".")[2]: path for path in (*api.by_name, *api.attributes) if "." in path}
    if name in members:
        return f"did you mean {members[name]}?"
    visible = set(api.roots | api.names)
    here: NameScope | None = use.scope
    while here is not None:
        visible |= here.bindings.keys()
        here = here.parent
    if near := guess(name, visible) or guess(name, BUILTINS):
        return f"did you mean {near}?"
    if near := guess(name, members):
        return f"did you mean {members[near]}?"
    if name in scopes.inside:
        return f"{name} is a variable of a function and ends with it: let the function return it"
    return f'define it first; if it is meant as text, write "{name}"'


# Statements.

_LEAVES = {ast.Return: "return", ast.Raise: "raise", ast.Break: "break", ast.Continue: "continue"}
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def check_flow(scopes: Scopes, report: Report) -> None:
    """Report code after return, raise, break and continue."""
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
    """Report a plan without statements and, unless allowed, one that defines functions and never calls any."""
    left = [statement for statement in tree.body if not does_nothing(statement)]
    if not left:
        report.add(None, "empty", "the plan does nothing", "write the actions to take")
        return
    defined = [statement.name for statement in left if isinstance(statement, _DEFINES)]
    if defined and not definitions_only and not any(map(acts, left)):
        message = f"the plan defines {', '.join(defined)} and calls nothing, so nothing happens"
        report.add(left[-1], "only-definitions", message, f"call {defined[-1]}(...) at the end of the plan")


def _is_yield(statement: ast.stmt) -> bool:
    """Return whether this is a yield. After ``return`` it makes a function an empty generator."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield | ast.YieldFrom)
