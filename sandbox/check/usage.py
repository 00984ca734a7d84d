"""How a plan uses what it is given: actions that do not exist, arguments that do not fit, assignments to the world."""

import ast
from itertools import islice

from planbook.sandbox.check.api import Api, Function, Kind, Parameter
from planbook.sandbox.check.arguments import misfits
from planbook.sandbox.check.report import Report
from planbook.sandbox.policy.base import MAX_PROBLEMS
from planbook.sandbox.reading.scopes import Binding, Scope, ScopeKind, Scopes

_ALIAS_DEPTH = 5
MAX_PARAMETERS = 50
"""Of a function that a plan defines; calls of one with more go unchecked."""


class Usage:
    """Follows names to what the session gives: directly, through a parameter called alike, or through an alias."""

    def __init__(self, scopes: Scopes, api: Api) -> None:
        self.scopes, self.api = scopes, api

    def path(self, node: ast.expr, scope: Scope, depth: int = 0) -> str | None:
        """The dotted name of the given object, function or attribute that the expression certainly means."""
        if isinstance(node, ast.Attribute):
            base = self.path(node.value, scope, depth)
            return f"{base}.{node.attr}" if base in self.api.members else None
        if not isinstance(node, ast.Name) or depth > _ALIAS_DEPTH:
            return None
        home, _ = self.scopes.find(node.id, scope)
        if (home is None or home.kind is ScopeKind.MODULE) and node.id in self.api.roots:
            return node.id  # a plan that rebinds it is refused, so it still is what was given
        if home is None:
            return None
        binding = self._only_binding(node.id, home)
        if binding is None or (home.kind is ScopeKind.MODULE and node.id in self.api.names):
            return None
        if isinstance(binding.node, ast.arg):
            return node.id if node.id in self.api.members else None
        return self.path(binding.value, home, depth + 1) if binding.value is not None else None

    def function(self, call: ast.Call, scope: Scope) -> Function | None:
        """The function that is certainly called: a given one, or one that the plan defines once, undecorated."""
        path = self.path(call.func, scope)
        if path is not None or not isinstance(call.func, ast.Name):
            return self.api.by_name.get(path) if path else None
        home, _ = self.scopes.find(call.func.id, scope)
        binding = self._only_binding(call.func.id, home) if home is not None else None
        if binding is None or call.func.id in self.api.names or not isinstance(binding.node, ast.FunctionDef):
            return None
        return None if binding.node.decorator_list else _defined(binding.node)

    def check(self, report: Report) -> None:
        """Report every wrong use."""
        self._check_rebinding(report)
        for node, scope in self.scopes.accesses:
            if not report.full:
                self._check_access(node, scope, report)
        for call, scope in self.scopes.calls:
            if not report.full:
                self._check_call(call, scope, report)

    def _check_rebinding(self, report: Report) -> None:
        for name in self.api.roots & self.scopes.module.bindings.keys():
            for binding in self.scopes.module.bindings[name]:
                message = f"{name} belongs to the world and can't be redefined"
                report.add(binding.node, "assignment", message, "choose another name")

    def _check_access(self, node: ast.Attribute, scope: Scope, report: Report) -> None:
        base = self.path(node.value, scope)
        if base is None or base not in self.api.members:
            return
        path, known = f"{base}.{node.attr}", self.api.members[base]
        if not isinstance(node.ctx, ast.Load):
            hint = "it changes by actions only; keep your own values in variables"
            report.add(node, "assignment", f"{path} can't be assigned or deleted", hint)
        elif node.attr not in known:
            near = report.guess(node.attr, known)
            hint = f"did you mean {base}.{near}?" if near else f"{base} has {', '.join(known)}"
            report.add(node, "unknown-action", f"{base} has no action or attribute {node.attr}", hint)

    def _check_call(self, call: ast.Call, scope: Scope, report: Report) -> None:
        path = self.path(call.func, scope)
        if path in self.api.attributes:
            report.add(call, "not-callable", f"{path} is an attribute, no action", f"write {path} without brackets")
        elif path in self.api.members:
            report.add(call, "not-callable", f"{path} is an object, no action", self._actions_of(path))
        elif (function := self.function(call, scope)) is not None:
            for misfit in islice(misfits(call, function, report.guess), MAX_PROBLEMS):
                report.add(misfit.node, misfit.type, misfit.message, misfit.hint)

    def _actions_of(self, path: str) -> str:
        return f"call one of {', '.join(f'{path}.{name}' for name in self.api.members[path])}"

    def _only_binding(self, name: str, scope: Scope) -> Binding | None:
        """That of a name with one; of a module's, as far as a part of a plan can tell, there may be more to come."""
        if scope.kind is ScopeKind.MODULE and not self.api.whole:
            return None
        bindings = scope.bindings.get(name, ())
        return bindings[0] if len(bindings) == 1 and name not in scope.deletions else None


def _defined(node: ast.FunctionDef) -> Function:
    """The parameters of a function that the plan defines; what it annotates is not enforced."""
    a = node.args
    positional = [*a.posonlyargs, *a.args]
    if len(positional) + len(a.kwonlyargs) > MAX_PARAMETERS:
        return Function(node.name, None)
    optional = len(positional) - len(a.defaults)
    found = [
        _parameter(arg, Kind.POSITIONAL_ONLY if n < len(a.posonlyargs) else Kind.POSITIONAL_OR_KEYWORD, n < optional)
        for n, arg in enumerate(positional)
    ]
    found += [_parameter(a.vararg, Kind.VAR_POSITIONAL, False)] if a.vararg else []
    found += [
        _parameter(arg, Kind.KEYWORD_ONLY, default is None)
        for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True)
    ]
    found += [_parameter(a.kwarg, Kind.VAR_KEYWORD, False)] if a.kwarg else []
    return Function(node.name, tuple(found))


def _parameter(arg: ast.arg, kind: Kind, required: bool) -> Parameter:
    star = {Kind.VAR_POSITIONAL: "*", Kind.VAR_KEYWORD: "**"}.get(kind, "")
    return Parameter(arg.arg, kind, required, f"{star}{arg.arg}" + ("" if required or star else " = ..."))
