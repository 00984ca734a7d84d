"""The static check of a plan before its first action: every fault at once, and none that is not certain.

Faults have the kind CHECK, and as type one of: syntax, empty, only-definitions, unknown-name, unbound-name,
unknown-action, not-callable, assignment, arguments, literal-type, unreachable, procedure, and those of the language
policy.
"""

import ast
from collections.abc import Callable, Iterable, Mapping

from planbook.sandbox.caching import cached_up_to
from planbook.sandbox.checks.api import Api, Report
from planbook.sandbox.checks.calls import Usage
from planbook.sandbox.checks.names import check_does_something, check_flow, check_names
from planbook.sandbox.policy.compiler import faults_of, find_problems
from planbook.sandbox.policy.rules import NAME_HINTS, SYNTAX
from planbook.sandbox.reading.scopes import Scope, ScopeKind, scopes_of
from planbook.sandbox.reading.syntax import compile_error, parse, too_deep
from planbook.sandbox.types import Fault

# Procedures.

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


# Plans.

__all__ = ["check", "check_part", "check_procedure"]

_KEPT = 4 << 20
"""Characters of the plans whose faults are kept."""


def check(
    code: str,
    functions: Mapping[str, Callable[..., object]],
    *,
    attributes: Iterable[str] = (),
    names: Iterable[str] = (),
    modules: Iterable[str] = (),
    allow_definitions_only: bool = False,
) -> list[Fault]:
    """Every certain fault of a plan, sorted by line. Never raises, whatever the text.

    ``functions`` and ``attributes`` are what the session gives, by bare or dotted name; ``names`` are what earlier
    cells and helpers defined, ``modules`` what plans may import beyond the standard library.
    """
    return list(
        _check(code, Api.of(functions, attributes, names, modules=modules), definitions_only=allow_definitions_only)
    )


def check_part(
    code: str,
    functions: Mapping[str, Callable[..., object]],
    *,
    attributes: Iterable[str] = (),
    names: Iterable[str] = (),
    modules: Iterable[str] = (),
) -> list[Fault]:
    """As ``check``, for a part of a plan whose other parts are not all known: what may yet become right is no fault.

    ``names`` are also those that the parts before it define. A plan that passes the check passes it in parts.
    """
    return list(_check(code, Api.of(functions, attributes, names, whole=False, modules=modules), definitions_only=True))


def check_procedure(
    code: str,
    functions: Mapping[str, Callable[..., object]],
    *,
    attributes: Iterable[str] = (),
    names: Iterable[str] = (),
    modules: Iterable[str] = (),
) -> list[Fault]:
    """As ``check``, for a procedure: it must define ``solve(agent, task)`` and act nowhere else."""
    return list(
        _check(code, Api.of(functions, attributes, names, modules=modules), definitions_only=True, procedure=True)
    )


@cached_up_to(_KEPT)
def _check(code: str, api: Api, *, definitions_only: bool, procedure: bool = False) -> tuple[Fault, ...]:
    tree = parse(code)
    if isinstance(tree, Fault):
        return (tree,)
    try:
        report = _examined(code, tree, api, definitions_only, procedure)
    except RecursionError:
        return (too_deep(code),)
    bound = () if api.whole else _bound_elsewhere(tree, api)
    return _merged(report, _policy_faults(code, tree, bound, api.modules))


def _bound_elsewhere(tree: ast.Module, api: Api) -> Iterable[str]:
    """The names that other parts of a plan define, or, for all that is known, may have defined when they are read."""
    scopes = scopes_of(tree)
    read_at_once = {use.node.id for use in scopes.uses if not scopes.find(use.node.id, use.scope)[1]}
    return api.names | (NAME_HINTS.keys() - read_at_once)


def _examined(code: str, tree: ast.Module, api: Api, definitions_only: bool, procedure: bool) -> Report:
    report, scopes = Report(code), scopes_of(tree)
    if api.whole:
        check_does_something(tree, report, definitions_only=definitions_only)
    check_flow(scopes, report)
    check_names(scopes, api, report)
    usage = Usage(scopes, api)
    usage.check(report)
    if procedure:
        check_solve(tree, usage, report)
    known_lines = {fault.line for fault in report.faults if fault.type == SYNTAX}
    if (last_word := compile_error(code, tree)) and last_word.line not in known_lines:
        report.faults.append(last_word)
    return report


def _merged(report: Report, refused: list[Fault]) -> tuple[Fault, ...]:
    """Where the policy refuses something, what else is wrong with that very expression no longer matters."""
    places = {(fault.line, fault.column) for fault in refused if fault.line}
    report.faults = refused + [fault for fault in report.faults if (fault.line, fault.column) not in places]
    return report.sorted()


def _policy_faults(source: str, tree: ast.Module, bound: Iterable[str], modules: frozenset[str]) -> list[Fault]:
    """Return what the language policy refuses, but what is no Python: the parser has told that, and better."""
    problems = [each for each in find_problems(source, bound, tree, modules) if each.name != SYNTAX]
    return [*faults_of(source, problems)]
