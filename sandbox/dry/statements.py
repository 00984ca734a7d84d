"""Statements. The state forks at unknown conditions, and its branches are merged."""

import ast
from collections.abc import Iterable, Sequence
from functools import partial

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.loops import Loops
from planbook.sandbox.dry.values import UNKNOWN, Container, DefinedFunction, Value
from planbook.sandbox.dry.walk import PathEnded


class DryWalk(Loops):
    """The whole walk: carries out statements."""

    def body(self, nodes: Sequence[ast.stmt]) -> None:
        """Carry out statements, one after the other. Raises PathEnded."""
        for node in nodes:
            self.step()
            self.visit(node)

    def generic_visit(self, node: ast.AST) -> Value:
        """Handle what is not followed: only its parts are evaluated, or a statement may have done anything in it."""
        if not isinstance(node, ast.stmt):
            return self.parts_of(node)
        for name in effects.bound([node]):
            self.escape(self.look_up(name, self.frame))
            self.assign(name, UNKNOWN)
        if not effects.is_harmless(node, self.acting):
            self.blind = True
            self.havoc([node])
        return UNKNOWN

    def visit_Expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    # Names.

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            left = self.look_up(node.target.id, self.frame)
            self.assign(node.target.id, self._increased(node.op, left, self.value(node.value)))
        else:
            self.parts_of(node.target)
            self.escape(self.value(node.value))

    def _increased(self, operation: ast.operator, left: Value, right: Value) -> Value:
        """Return the value of ``left += right``: a list stays the same list."""
        if not isinstance(left, Container):
            return self.operated(type(operation), left, right)
        content, more = self.content(left), self.items(right)
        if isinstance(operation, ast.Add) and isinstance(content, list) and more is not None:
            self.state.heap[left.number] = [*content, *more]
            return left
        self.escape(left, right)
        return UNKNOWN

    def bind(self, target: ast.expr, value: Value) -> None:
        """Bind a target."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            self.store(self.value(target.value), self.value(target.slice), value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value)
        else:
            self.escape(value)
            self.parts_of(target)

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        items = self.items(value)
        if items is None or len(items) != len(targets) or any(isinstance(each, ast.Starred) for each in targets):
            self.escape(value)
            items = (UNKNOWN,) * len(targets)
        for target, item in zip(targets, items, strict=True):
            self.bind(target, item)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.assign(target.id, UNKNOWN)
            else:
                self.parts_of(target)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        value = self.visit_Lambda(node)
        for decorator in node.decorator_list:
            self.escape(self.value(decorator), value)
            value = UNKNOWN
        self.assign(node.name, value)

    def visit_Lambda(self, node: ast.FunctionDef | ast.Lambda) -> Value:
        """Return the function as a value. Its defaults are evaluated now."""
        a = node.args
        positional = [each.arg for each in (*a.posonlyargs, *a.args)]
        pairs = list(zip(positional[len(positional) - len(a.defaults) :], a.defaults, strict=True))
        pairs += [(each.arg, default) for each, default in zip(a.kwonlyargs, a.kw_defaults, strict=True) if default]
        return DefinedFunction(node, self.frame, tuple((name, self.value(default)) for name, default in pairs))

    # Branches.

    def _branch(self, body: Sequence[ast.stmt], names: Iterable[str] = (), after: Sequence[ast.stmt] = ()) -> None:
        """Carry out statements ``after`` any part of others was, with unknown values of these names."""
        if after:
            self.havoc(after)
        for name in names:
            self.assign(name, UNKNOWN)
        self.body(body)

    def visit_If(self, node: ast.If) -> None:
        truth = self.truth(self.value(node.test))
        if truth is None:
            self.branches(partial(self.body, node.body), partial(self.body, node.orelse))
        else:
            self.body(node.body if truth else node.orelse)

    def visit_Match(self, node: ast.Match) -> None:
        self.escape(self.value(node.subject))
        cases = []
        for case in node.cases:
            guard = [ast.Expr(case.guard)] if case.guard else []
            cases.append(partial(self._branch, [*guard, *case.body], effects.bound([case.pattern])))
        self.branches(*cases, lambda: None)

    def visit_Assert(self, node: ast.Assert) -> None:
        if self.truth(self.value(node.test)) is False:
            raise PathEnded

    def visit_Raise(self, node: ast.Raise) -> None:
        for each in (node.exc, node.cause):
            if each is not None:
                self.value(each)
        raise PathEnded

    def visit_Return(self, node: ast.Return) -> None:
        value = self.value(node.value) if node.value else None
        self.returns[-1].append((self.state, value))
        raise PathEnded

    def visit_Break(self, node: ast.Break) -> None:
        self.loops[-1].breaks.append(self.state)
        raise PathEnded

    def visit_Continue(self, node: ast.Continue) -> None:
        self.loops[-1].continues.append(self.state)
        raise PathEnded

    def visit_Try(self, node: ast.Try) -> None:
        """An exception may come from anywhere in the body, so nothing about it is known in a handler.

        A ``finally`` that acts may do so at any time.
        """
        self.blind = self.blind or not all(effects.is_harmless(each, self.acting) for each in node.finalbody)
        handlers = [
            partial(self._branch, each.body, [each.name] if each.name else (), node.body) for each in node.handlers
        ]
        self.branches(partial(self.body, [*node.body, *node.orelse]), *handlers)
        self.body(node.finalbody)

    visit_TryStar = visit_Try  # type: ignore[assignment]

    def visit_With(self, node: ast.With) -> None:
        """As a try: the context manager may swallow exceptions."""
        for item in node.items:
            self.escape(self.value(item.context_expr))
            if item.optional_vars is not None:
                self.bind(item.optional_vars, UNKNOWN)
        self.branches(partial(self.body, node.body), partial(self.havoc, node.body))
