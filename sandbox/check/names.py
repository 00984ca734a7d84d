"""Names that nothing defines, or that are read before they have a value. Says only what is certain on every path."""

import builtins

from planbook.sandbox.check.api import Api
from planbook.sandbox.check.report import Report
from planbook.sandbox.policy.hints import NAME_HINTS
from planbook.sandbox.reading.definitions import ANY_NAME
from planbook.sandbox.reading.scopes import ANY_TIME, Binding, Guard, Scope, ScopeKind, Scopes, Use
from planbook.sandbox.suggest import Guess

BUILTINS = frozenset(dir(builtins)) - {"copyright", "credits", "license"}
"""Those that the sandbox refuses are the language policy's to report, with what to write instead."""


def check_names(scopes: Scopes, api: Api, report: Report) -> None:
    """Report every use of a name that has no value there."""
    given, any_name = api.roots | api.names, scopes.star_import or ANY_NAME in api.names
    known, bound_before = given | BUILTINS, given | (BUILTINS - NAME_HINTS.keys())
    for use in scopes.uses:
        if report.full:
            return
        name = use.node.id
        if use.annotation or (name.startswith("__") and name.endswith("__")):
            continue  # annotations may name what nothing defines; special names are the language policy's
        scope, deferred = scopes.find(name, use.scope)
        if not api.whole and (deferred or use.guard is not Guard.NONE or not _is_certain(scope)):
            continue
        if scope is None:
            if name not in known and use.guard is not Guard.NAME_ERROR and not any_name:
                hint = _hint(name, use, scopes, api, report.guess)
                report.add(use.node, "unknown-name", f"{name} is not defined", hint)
        elif not deferred and not (scope.kind is ScopeKind.MODULE and name in bound_before):
            _check_order(use, scope, report)


def _is_certain(scope: Scope | None) -> bool:
    """Whether a part of a plan shows all that binds a name of this scope."""
    return scope is None or scope.kind is not ScopeKind.MODULE


def _check_order(use: Use, scope: Scope, report: Report) -> None:
    name, bindings = use.node.id, scope.bindings[use.node.id]
    first = bindings[0]
    if ANY_TIME < first.order < use.order and first.last is None and name not in scope.deletions:
        return  # the plain case, first: a check should cost little
    if scope.kind is ScopeKind.CLASS or any(b.order == ANY_TIME and _may_precede(b, use) for b in bindings):
        return
    if all(binding.last is not None for binding in bindings):
        if not any(binding.order < use.order < (binding.last or 0) for binding in bindings):
            hint = f"keep it under another name inside the except block: problem = {name}"
            report.add(use.node, "unbound-name", f"{name} exists only inside its except block", hint)
    elif use.guard is Guard.NONE and not any(_may_precede(binding, use) for binding in bindings):
        report.add(use.node, "unbound-name", f"{name} is read before it gets a value", _order_hint(name, scope))
    elif _deleted(use, scope):
        report.add(use.node, "unbound-name", f"{name} was deleted", "delete it later, or not at all")


def _may_precede(binding: Binding, use: Use) -> bool:
    order = binding.since if binding.order == ANY_TIME else binding.order
    return order < use.order or bool(set(binding.loops) & set(use.loops))


def _deleted(use: Use, scope: Scope) -> bool:
    """Whether a del of the same straight line of statements comes between the last binding and the use."""
    last = max((b.order for b in scope.bindings[use.node.id] if b.order < use.order), default=0)
    deletions = scope.deletions.get(use.node.id, ())
    return any(last < order < use.order and block in use.blocks for order, block in deletions)


def _order_hint(name: str, scope: Scope) -> str:
    if scope.kind is ScopeKind.FUNCTION:
        return (
            f"a function that assigns {name} has a {name} of its own: give it a value first, or declare global {name}"
        )
    return f"move the line that gives {name} its value above this one"


def _hint(name: str, use: Use, scopes: Scopes, api: Api, guess: Guess) -> str:
    """What the plan may have meant: a member of an object, a name in sight, a text without quotes."""
    members = {path.rpartition(".")[2]: path for path in (*api.by_name, *api.attributes) if "." in path}
    if name in members:
        return f"did you mean {members[name]}?"
    in_sight = set(api.roots | api.names)
    here: Scope | None = use.scope
    while here is not None:
        in_sight |= here.bindings.keys()
        here = here.parent
    if near := guess(name, in_sight) or guess(name, BUILTINS):
        return f"did you mean {near}?"
    if near := guess(name, members):
        return f"did you mean {members[near]}?"
    if name in scopes.inside:
        return f"{name} is a variable of a function and ends with it: let the function return it"
    return f'define it first; if it is meant as text, write "{name}"'
