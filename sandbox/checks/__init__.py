"""The static check of a plan before its first action. It reports only faults that are certain.

All faults have the kind CHECK. Their types are syntax, empty, only-definitions, unknown-name, unbound-name,
unknown-action, not-callable, assignment, arguments, literal-type, unreachable, procedure, and the types of the language
policy (``planbook.sandbox.policy``), which restricts plans to a part of Python.

- ``api`` describes the functions and names that plans may use, and collects the faults.
- ``calls`` checks how a plan uses the session's functions and objects.
- This module checks everything else: undefined names, unreachable statements, and plans that do nothing.

A *cell* is a piece of plan code that runs as a unit. A *procedure* is a file that defines ``solve(agent, task)``. The
*order* of a binding or use is a number, which is lower if Python evaluates it earlier (``reading.scopes``).
"""

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypedDict, Unpack

from planbook.sandbox.caching import cached_up_to
from planbook.sandbox.checks.api import Api, Report, sort_faults
from planbook.sandbox.checks.calls import ApiUsage
from planbook.sandbox.policy.compiler import faults_of, find_problems
from planbook.sandbox.policy.rules import NAME_HINTS, SYNTAX
from planbook.sandbox.reading.definitions import ANY_NAME
from planbook.sandbox.reading.growing import acts, does_nothing
from planbook.sandbox.reading.scopes import ANY_TIME, Binding, Guard, NameScope, ScopeKind, Scopes, Use, scopes_of
from planbook.sandbox.reading.syntax import compile_error, parse, too_deep
from planbook.sandbox.suggest import Guess
from planbook.sandbox.types import Fault

__all__ = ["check", "check_part", "check_procedure"]

Functions = Mapping[str, Callable[..., object]]
_MAX_CACHED = 4 << 20
"""Maximum total size, in characters, of the cached plans and their faults."""


class CheckContext(TypedDict, total=False):
    """Names that a plan may use in addition to the session's functions."""

    attributes: Iterable[str]
    """Dotted names of the session's attributes."""
    names: Iterable[str]
    """Names that helpers, earlier cells and earlier parts of the plan have defined."""
    modules: Iterable[str]
    """Modules beyond the standard library that plans may import."""


def check(
    code: str, functions: Functions, *, allow_definitions_only: bool = False, **context: Unpack[CheckContext]
) -> list[Fault]:
    """Return all certain faults of a plan, sorted by line. Never raises. No code runs.

    ``functions`` maps names, such as ``finish`` or ``agent.go_to``, to the session's functions, which are not called.
    ``attributes`` are the dotted names of the session's attributes, and ``names`` are the names that helpers, earlier
    cells or the session have defined. ``modules`` are the packages beyond the standard library that plans may import.
    Unless ``allow_definitions_only``, a plan that only defines functions has a fault.

    >>> def go_to(place: str) -> str: ...
    >>> print(*check("agent.goto('bed')", {"agent.go_to": go_to}))
    line 1: unknown-action: agent has no action or attribute goto
        agent.goto('bed')
      did you mean agent.go_to?
    """
    return list(_check(code, Api.of(functions, **context), allow_definitions_only=allow_definitions_only))


def check_part(code: str, functions: Functions, **context: Unpack[CheckContext]) -> list[Fault]:
    """Return the faults of a part of a plan, except those that other parts may correct.

    For example, a name is not reported as undefined if another part may define it. So if a plan passes ``check``, each
    of its parts passes this check.
    """
    return list(_check(code, Api.of(functions, is_whole_plan=False, **context), allow_definitions_only=True))


def check_procedure(code: str, functions: Functions, **context: Unpack[CheckContext]) -> list[Fault]:
    """Return the faults of a procedure. It must define ``solve(agent, task)``, and call actions only in functions."""
    return list(_check(code, Api.of(functions, **context), allow_definitions_only=True, is_procedure=True))


@cached_up_to(_MAX_CACHED)
def _check(code: str, api: Api, *, allow_definitions_only: bool, is_procedure: bool = False) -> tuple[Fault, ...]:
    tree = parse(code)
    if isinstance(tree, Fault):
        return (tree,)
    try:
        scopes = scopes_of(tree)
        report = _build_report(code, tree, scopes, api, allow_definitions_only, is_procedure)
    except RecursionError:
        return (too_deep(code),)
    bound = () if api.is_whole_plan else _bound_elsewhere(scopes, api)
    problems = find_problems(code, bound, tree, api.modules)
    # syntax errors are left out here, since the report describes them better
    refused = faults_of(code, [problem for problem in problems if problem.type != SYNTAX])
    positions = {(fault.line, fault.column) for fault in refused if fault.line}
    return sort_faults([*refused, *(fault for fault in report.faults if (fault.line, fault.column) not in positions)])


def _bound_elsewhere(scopes: Scopes, api: Api) -> Iterable[str]:
    """Return names that the policy must accept in a part of a plan, since other parts define or may define them.

    They include the names of refused built-ins, such as ``open``, except those that this part reads outside functions.
    """
    read_immediately = {use.node.id for use in scopes.uses if not scopes.find(use.node.id, use.scope)[1]}
    return api.names | (NAME_HINTS.keys() - read_immediately)


def _build_report(
    code: str, tree: ast.Module, scopes: Scopes, api: Api, allow_definitions_only: bool, is_procedure: bool
) -> Report:
    report = Report(code)
    if api.is_whole_plan:
        check_does_something(tree, report, allow_definitions_only=allow_definitions_only)
    check_flow(scopes, report)
    check_names(scopes, api, report)
    usage = ApiUsage(scopes, api)
    usage.check(report)
    if is_procedure:
        check_solve(tree, usage, report)
    reported_lines = {fault.line for fault in report.faults if fault.type == SYNTAX}
    if (refused := compile_error(code, tree)) and refused.line not in reported_lines:
        report.faults.append(refused)
    return report


BUILTINS = frozenset(dir(builtins)) - {"copyright", "credits", "license"}
"""Python's built-ins. Those that are not available in plans are included, since the language policy reports them."""


def check_names(scopes: Scopes, api: Api, report: Report) -> None:
    """Report every use of a name that certainly has no value there."""
    session_names, may_bind_any_name = api.roots | api.names, scopes.binds_any_name or ANY_NAME in api.names
    known_names, bound_before = session_names | BUILTINS, session_names | (BUILTINS - NAME_HINTS.keys())
    for use in scopes.uses:
        if report.is_full:
            return
        name = use.node.id
        if use.in_annotation or (name.startswith("__") and name.endswith("__")):
            continue  # names in annotations may be undefined; the language policy checks names such as __import__
        scope, deferred = scopes.find(name, use.scope)
        if not api.is_whole_plan and (deferred or use.guard is not Guard.NONE or scope is scopes.module):
            continue
        if scope is None:
            if name not in known_names and use.guard is not Guard.NAME_ERROR and not may_bind_any_name:
                hint = _hint(name, use, scopes, api, report.guess)
                report.add(use.node, "unknown-name", f"{name} is not defined", hint)
        elif not deferred and not (scope.kind is ScopeKind.MODULE and name in bound_before):
            _check_order(use, scope, report)


MAX_BINDINGS = 100
"""If the code binds a name more often than this, not all of its uses are checked: each would be compared with each
binding.
"""


def _check_order(use: Use, scope: NameScope, report: Report) -> None:
    name, bindings = use.node.id, scope.bindings[use.node.id]
    first = bindings[0]
    if ANY_TIME < first.order < use.order and first.end_order is None and name not in scope.deletions:
        return  # the usual case: the first binding precedes the use
    if len(bindings) > MAX_BINDINGS:
        return
    if scope.kind is ScopeKind.CLASS or any(b.order == ANY_TIME and _may_precede(b, use) for b in bindings):
        return
    if all(binding.end_order is not None for binding in bindings):
        if not any(binding.order < use.order < (binding.end_order or 0) for binding in bindings):
            hint = f"assign it to another name inside the except block: problem = {name}"
            report.add(use.node, "unbound-name", f"{name} exists only inside its except block", hint)
    elif use.guard is Guard.NONE and not any(_may_precede(binding, use) for binding in bindings):
        report.add(use.node, "unbound-name", f"{name} is read before it gets a value", _order_hint(name, scope))
    elif use.guard is Guard.NONE and _is_deleted(use, scope):
        report.add(use.node, "unbound-name", f"{name} was deleted", "delete it later, or not at all")


def _may_precede(binding: Binding, use: Use) -> bool:
    order = binding.text_order if binding.order == ANY_TIME else binding.order
    return order < use.order or bool(set(binding.loops) & set(use.loops))


def _is_deleted(use: Use, scope: NameScope) -> bool:
    """Return whether a ``del`` in an enclosing block follows the last binding before the use, and precedes the use."""
    last = max((b.order for b in scope.bindings[use.node.id] if b.order < use.order), default=0)
    deletions = scope.deletions.get(use.node.id, ())
    return any(last < order < use.order and block in use.blocks for order, block in deletions)


def _order_hint(name: str, scope: NameScope) -> str:
    if scope.kind is ScopeKind.FUNCTION:
        return f"a function that assigns {name} has its own {name}: give it a value first, or declare global {name}"
    return f"move the line that gives {name} its value above this one"


def _hint(name: str, use: Use, scopes: Scopes, api: Api, guess: Guess) -> str:
    """Return a hint for an undefined name: a member of an object, a visible name, or quotes around the name."""
    members = {path.rpartition(".")[2]: path for path in (*api.functions_by_name, *api.attributes) if "." in path}
    if name in members:
        return f"did you mean {members[name]}?"
    visible = api.roots.union(api.names, *(scope.bindings for scope in use.scope.outward()))
    if near := guess(name, visible) or guess(name, BUILTINS):
        return f"did you mean {near}?"
    if near := guess(name, members):
        return f"did you mean {members[near]}?"
    if name in scopes.local_names:
        return f"{name} is local to a function: let the function return it"
    return f'define it first; if it is meant as text, write "{name}"'


_EXITS = {ast.Return: "return", ast.Raise: "raise", ast.Break: "break", ast.Continue: "continue"}
_MISPLACED = {
    ast.Return: ("'return' outside function", "a plan is not a function: put the lines into a def and call it"),
    ast.Break: ("'break' outside loop", "break works only inside a for or while loop"),
    ast.Continue: ("'continue' outside loop", "continue works only inside a for or while loop"),
}
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def check_flow(scopes: Scopes, report: Report) -> None:
    """Report code that is unreachable, and ``return``, ``break`` and ``continue`` where Python does not allow them."""
    for node in scopes.misplaced:
        report.add(node, "syntax", *_MISPLACED[type(node)])
    for block in scopes.blocks:
        _check_block(block, report)


def _check_block(block: Sequence[ast.stmt], report: Report) -> None:
    for number, statement in enumerate(block[:-1]):
        if word := _EXITS.get(type(statement)):
            unreachable = next(
                (later for later in block[number + 1 :] if not does_nothing(later) and not _is_yield(later)), None
            )
            if unreachable is not None:
                hint = f"move it above the {word} in line {statement.lineno}, or leave it out"
                report.add(unreachable, "unreachable", f"this never runs: it follows {word}", hint)
            return


def check_does_something(tree: ast.Module, report: Report, *, allow_definitions_only: bool) -> None:
    """Report a plan without statements and, unless ``allow_definitions_only``, one that only defines functions."""
    statements = [statement for statement in tree.body if not does_nothing(statement)]
    if not statements:
        report.add(None, "empty", "the plan does nothing", "write the actions to take")
        return
    defined = [statement.name for statement in statements if isinstance(statement, _DEFINES)]
    if defined and not allow_definitions_only and not any(map(acts, statements)):
        message = f"the plan defines {', '.join(defined)} and calls nothing, so nothing happens"
        report.add(statements[-1], "only-definitions", message, f"call {defined[-1]}(...) at the end of the plan")


def _is_yield(statement: ast.stmt) -> bool:
    """Return whether a statement is a ``yield``. Even if it never runs, it makes its function a generator."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield | ast.YieldFrom)


SOLVE = "solve"
PARAMETERS = ["agent", "task"]


def check_solve(tree: ast.Module, usage: ApiUsage, report: Report) -> None:
    """Report a missing ``solve``, a ``solve`` with wrong parameters, and calls to actions outside functions."""
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == SOLVE]
    if not definitions:
        hint = "define it at the top level of the file; helpers and constants may be defined next to it"
        report.add(None, "procedure", "a procedure must define solve(agent, task)", hint)
    for node in definitions:
        args = node.args
        names = [argument.arg for argument in (*args.posonlyargs, *args.args)]
        if names != PARAMETERS or args.vararg or args.kwarg or args.kwonlyargs:
            message = "solve must have exactly the parameters agent and task"
            report.add(node, "procedure", message, "def solve(agent, task):")
    for call, scope in usage.scopes.calls:
        in_function = any(enclosing.kind is ScopeKind.FUNCTION for enclosing in scope.outward())
        if not in_function and usage.path_of(call.func, scope) in usage.api.functions_by_name:
            message = "a procedure may call actions only inside solve and its helpers"
            report.add(call, "procedure", message, "move the call into solve")
