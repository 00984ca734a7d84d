"""The static check of a plan before its first action. It reports every fault that is certain, and no others.

Faults have the kind CHECK and one of these types: syntax, empty, only-definitions, unknown-name, unbound-name,
unknown-action, not-callable, assignment, arguments, literal-type, unreachable, procedure, and the types of the language
policy (``planbook.sandbox.policy``).

- ``api`` describes the functions and names that plans may use, and collects the faults.
- ``calls`` checks how a plan uses the session's functions and objects.
- ``names`` checks everything else: undefined names, unreachable statements, and plans that do nothing.

A *cell* is a piece of plan code that runs as a unit. A *procedure* is a file that defines ``solve(agent, task)``.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import TypedDict, Unpack

from planbook.sandbox.caching import cached_up_to
from planbook.sandbox.checks.api import Api, Report
from planbook.sandbox.checks.calls import ApiUsage
from planbook.sandbox.checks.names import check_does_something, check_flow, check_names
from planbook.sandbox.policy.compiler import faults_of, find_problems
from planbook.sandbox.policy.rules import NAME_HINTS, SYNTAX
from planbook.sandbox.reading.scopes import NameScope, ScopeKind, scopes_of
from planbook.sandbox.reading.syntax import compile_error, parse, too_deep
from planbook.sandbox.types import Fault

# Procedures.

SOLVE = "solve"
PARAMETERS = ["agent", "task"]


def check_solve(tree: ast.Module, usage: ApiUsage, report: Report) -> None:
    """Report a missing ``solve``, a ``solve`` with wrong parameters, and actions outside functions."""
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == SOLVE]
    if not definitions:
        hint = "define it at the top level of the file; helpers and constants may stand beside it"
        report.add(None, "procedure", "a procedure must define solve(agent, task)", hint)
    for node in definitions:
        args = node.args
        names = [argument.arg for argument in (*args.posonlyargs, *args.args)]
        if names != PARAMETERS or args.vararg or args.kwarg or args.kwonlyargs:
            message = "solve must have exactly the parameters agent and task"
            report.add(node, "procedure", message, "def solve(agent, task):")
    for call, scope in usage.scopes.calls:
        if not _in_function(scope) and usage.path_of(call.func, scope) in usage.api.functions_by_name:
            message = "a procedure acts inside solve and its helpers only"
            report.add(call, "procedure", message, "move the call into solve")


def _in_function(scope: NameScope | None) -> bool:
    while scope is not None and scope.kind is not ScopeKind.FUNCTION:
        scope = scope.parent
    return scope is not None


# Plans.

__all__ = ["check", "check_part", "check_procedure"]

Functions = Mapping[str, Callable[..., object]]
_MAX_CACHED = 4 << 20
"""Maximum total characters of the plans whose faults are cached."""


class CheckContext(TypedDict, total=False):
    """Names that a plan may use in addition to the session's functions."""

    attributes: Iterable[str]
    """Dotted names of the session's attributes."""
    names: Iterable[str]
    """Names that helpers and earlier cells have defined. For a part of a plan, also the names from earlier parts."""
    modules: Iterable[str]
    """Modules beyond the standard library that plans may import."""


def check(
    code: str, functions: Functions, *, allow_definitions_only: bool = False, **context: Unpack[CheckContext]
) -> list[Fault]:
    """Return all faults of a plan that are certain, sorted by line. Never raises, and runs nothing.

    ``functions`` maps names, which may be dotted, to the session's functions. None of them is called. ``attributes``
    has the dotted names of the session's attributes, and ``names`` the names that earlier cells or the session have
    defined. ``modules`` has the packages beyond the standard library that plans may import. Code that only defines
    functions is a fault unless ``allow_definitions_only``.

    >>> def go_to(place: str) -> str: ...
    >>> print(*check("agent.goto('bed')", {"agent.go_to": go_to}))
    line 1: unknown-action: agent has no action or attribute goto
        agent.goto('bed')
      did you mean agent.go_to?
    """
    return list(_check(code, Api.of(functions, **context), allow_definitions_only=allow_definitions_only))


def check_part(code: str, functions: Functions, **context: Unpack[CheckContext]) -> list[Fault]:
    """Return the faults of a part of a plan, except those that later parts may correct.

    If a plan passes ``check``, each of its parts passes this check.
    """
    return list(_check(code, Api.of(functions, is_whole_plan=False, **context), allow_definitions_only=True))


def check_procedure(code: str, functions: Functions, **context: Unpack[CheckContext]) -> list[Fault]:
    """Return the faults of a procedure. It must define ``solve(agent, task)``, and act only inside functions."""
    return list(_check(code, Api.of(functions, **context), allow_definitions_only=True, procedure=True))


@cached_up_to(_MAX_CACHED)
def _check(code: str, api: Api, *, allow_definitions_only: bool, procedure: bool = False) -> tuple[Fault, ...]:
    tree = parse(code)
    if isinstance(tree, Fault):
        return (tree,)
    try:
        report = _build_report(code, tree, api, allow_definitions_only, procedure)
    except RecursionError:
        return (too_deep(code),)
    bound = () if api.is_whole_plan else _bound_elsewhere(tree, api)
    problems = find_problems(code, bound, tree, api.modules)
    refused = [problem for problem in problems if problem.type != SYNTAX]  # the parser explains syntax errors better
    return _merge(report, faults_of(code, refused))


def _bound_elsewhere(tree: ast.Module, api: Api) -> Iterable[str]:
    """Return names that other parts of the plan define, or may define before a function in this part reads them."""
    scopes = scopes_of(tree)
    read_immediately = {use.node.id for use in scopes.uses if not scopes.find(use.node.id, use.scope)[1]}
    return api.names | (NAME_HINTS.keys() - read_immediately)


def _build_report(code: str, tree: ast.Module, api: Api, allow_definitions_only: bool, procedure: bool) -> Report:
    report, scopes = Report(code), scopes_of(tree)
    if api.is_whole_plan:
        check_does_something(tree, report, allow_definitions_only=allow_definitions_only)
    check_flow(scopes, report)
    check_names(scopes, api, report)
    usage = ApiUsage(scopes, api)
    usage.check(report)
    if procedure:
        check_solve(tree, usage, report)
    reported_lines = {fault.line for fault in report.faults if fault.type == SYNTAX}
    if (refused := compile_error(code, tree)) and refused.line not in reported_lines:
        report.faults.append(refused)
    return report


def _merge(report: Report, refused: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Return all faults. A fault of the language policy (``refused``) replaces others at the same position."""
    positions = {(fault.line, fault.column) for fault in refused if fault.line}
    others = (fault for fault in report.faults if (fault.line, fault.column) not in positions)
    report.faults = [*refused, *others]
    return report.sorted_faults()
