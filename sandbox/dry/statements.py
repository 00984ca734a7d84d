"""Statements. The state forks at unknown conditions, and its branches are merged."""

import ast
from collections.abc import Sequence
from functools import partial

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.loops import Loops
from planbook.sandbox.dry.values import UNKNOWN, Container, DefinedFunction, UnknownType, Value
from planbook.sandbox.dry.walk import PathEnded


class DryWalk(Loops):
    """The whole walk: carries out statements."""

    def body(self, nodes: Sequence[ast.stmt]) -> None:
        """Carry out statements, one after the other. Raises PathEnded."""
        for node in nodes:
            self.step()
            self.visit(node)

    def generic_visit(self, node: ast.AST) -> Value:
        """Handle what is not followed: only its parts are evaluated, or anything in a statement may have been done."""
        if not isinstance(node, ast.stmt):
            return self.parts_of(node)
        if not effects.is_harmless(node, self.acting):
            self.blind = True
        self.havoc([node])
        return UNKNOWN

    def visit_Expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def visit_Pass(self, node: ast.Pass | ast.Global | ast.Nonlocal) -> None:
        pass

    visit_Global = visit_Nonlocal = visit_Pass

    # Names.

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            left = self.look_up(target.id, self.frame)
            self.assign(target.id, self._increased(node.op, left, self.value(node.value)))
        elif isinstance(target, ast.Subscript):
            base, key = self.value(target.value), self.value(target.slice)
            left = self.item(base, key)
            self.replaced(base, "__setitem__", key, self._increased(node.op, left, self.value(node.value)))
        else:
            self.bind(target, self.value(node.value))

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
            self.replaced(self.value(target.value), "__setitem__", self.value(target.slice), value)
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
            elif isinstance(target, ast.Subscript):
                self.replaced(self.value(target.value), "__delitem__", self.value(target.slice))

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name in effects.bound([node]):
            self.assign(name, UNKNOWN)

    visit_ImportFrom = visit_Import

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

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.FunctionDef):
                self.unseen.setdefault(id(each), DefinedFunction(each, self.frame))
        if not effects.is_harmless(node, self.acting):
            self.blind = True
            self.havoc([node])
        self.assign(node.name, UNKNOWN)

    # Branches.

    def visit_If(self, node: ast.If) -> None:
        truth = self.truth(self.value(node.test))
        if isinstance(truth, UnknownType):
            self.branches(lambda: self.body(node.body), lambda: self.body(node.orelse))
        else:
            self.body(node.body if truth else node.orelse)

    def visit_Match(self, node: ast.Match) -> None:
        self.escape(self.value(node.subject))

        def case(each: ast.match_case) -> None:
            for name in effects.bound([each.pattern]):
                self.assign(name, UNKNOWN)
            if each.guard is not None:
                self.value(each.guard)
            self.body(each.body)

        self.branches(*(partial(case, each) for each in node.cases), lambda: None)

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
        self.leave()
        self.returns[-1].append((self.state, value))
        raise PathEnded

    def visit_Break(self, node: ast.Break) -> None:
        self.leave()
        self.loops[-1].breaks.append(self.state)
        raise PathEnded

    def visit_Continue(self, node: ast.Continue) -> None:
        self.leave()
        self.loops[-1].continues.append(self.state)
        raise PathEnded

    def visit_Try(self, node: ast.Try) -> None:
        """An exception may come from anywhere in the body, so nothing about it is known in a handler."""

        def caught(handler: ast.ExceptHandler) -> None:
            self.havoc(node.body)
            if handler.name:
                self.assign(handler.name, UNKNOWN)
            self.body(handler.body)

        def uncaught() -> None:
            self.havoc([*node.body, *node.handlers, *node.orelse])
            self.body(node.finalbody)
            raise PathEnded

        def through() -> None:
            self.finals.append(node.finalbody)
            try:
                handlers = (partial(caught, each) for each in node.handlers)
                self.branches(lambda: self.body([*node.body, *node.orelse]), *handlers)
            finally:
                self.finals.pop()
            self.body(node.finalbody)

        self.branches(through, *([uncaught] if node.finalbody else []))

    def visit_With(self, node: ast.With) -> None:
        """As a try: the context manager may swallow exceptions."""
        for item in node.items:
            self.escape(self.value(item.context_expr))
            if item.optional_vars is not None:
                self.bind(item.optional_vars, UNKNOWN)
        self.branches(lambda: self.body(node.body), lambda: self.havoc(node.body))

    def leave(self) -> None:
        """Carry out the enclosing ``finally`` blocks on the way out."""
        for final in reversed(self.finals):
            if final:
                self.havoc(final)
