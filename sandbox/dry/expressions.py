"""Values of expressions. What is not followed has the value UNKNOWN, and its operands escape."""

import ast
from contextlib import suppress

from planbook.sandbox.dry.values import (
    COMPARISONS,
    MAX_CHARS,
    UNKNOWN,
    HostRef,
    KnownObject,
    NotKnown,
    UnknownType,
    Value,
    binary,
    computed,
)
from planbook.sandbox.dry.walk import BaseWalk


class Expressions(BaseWalk):
    """Evaluates expressions, and converts values to and from Python's own."""

    def scalar(self, value: Value) -> Value:
        """Return a number, a string, None, or a tuple of such values. Raises NotKnown for any other."""
        if isinstance(value, tuple):
            return tuple(map(self.scalar, value))
        if value is None or isinstance(value, str | bytes | int | float):
            return value
        raise NotKnown

    def plain(self, value: Value) -> object:
        """Return Python's value. Raises NotKnown if a part is unknown, or a container: that has an identity."""
        content = self.content(value)
        if isinstance(content, dict):
            return {self.scalar(name): self.scalar(each) for name, each in content.items()}
        return self.scalar(value) if content is None else type(content)(map(self.scalar, content))

    def taken_in(self, value: object) -> Value:
        """Return a value that Python computed as a value of the dry run."""
        if isinstance(value, list):
            return self.new_container([self.taken_in(each) for each in value])
        if isinstance(value, dict):
            return self.new_container({self.taken_in(name): self.taken_in(each) for name, each in value.items()})
        if isinstance(value, set):
            return self.new_container(set(value))
        return tuple(map(self.taken_in, value)) if isinstance(value, tuple) else value

    def value(self, node: ast.expr) -> Value:
        """Evaluate. Raises PathEnded if no path comes back from it."""
        return self.visit(node)

    def parts_of(self, node: ast.AST) -> Value:
        """Evaluate only the parts of an expression, for their effects."""
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.escape(self.value(part))
        return UNKNOWN

    def visit_Constant(self, node: ast.Constant) -> Value:
        return node.value if isinstance(node.value, str | bytes | int | float | None) else UNKNOWN

    def visit_Name(self, node: ast.Name) -> Value:
        return self.look_up(node.id, self.frame)

    def visit_Attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        if isinstance(base, KnownObject):
            return base.fields.get(node.attr, UNKNOWN)
        if not isinstance(base, HostRef):
            self.escape(base)
            return UNKNOWN
        path = f"{base.path}.{node.attr}"
        if path in self.attributes:
            return UNKNOWN if self.blind else self.state.knowledge.attribute(path)
        return HostRef(path)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Value:
        parts = [self._part(part) for part in node.values]
        if any(isinstance(part, UnknownType) for part in parts) or sum(len(str(part)) for part in parts) > MAX_CHARS:
            return UNKNOWN
        return "".join(map(str, parts))

    def _part(self, node: ast.expr) -> Value:
        if not isinstance(node, ast.FormattedValue):
            return self.value(node)
        value = self.value(node.value)
        if node.format_spec is not None or node.conversion not in (-1, ord("s")):
            return self.parts_of(node.format_spec) if node.format_spec else UNKNOWN
        return str(value) if isinstance(value, str | int | float | None) else UNKNOWN

    def visit_Tuple(self, node: ast.Tuple) -> Value:
        parts = self.unpacked(node.elts)
        return UNKNOWN if parts is None else self.tuple_of(parts)

    def visit_List(self, node: ast.List) -> Value:
        return self.new_container(self.unpacked(node.elts))

    def unpacked(self, nodes: list[ast.expr]) -> list[Value] | None:
        """Return values in order, with starred ones spread out; None if their number is unknown."""
        values = [self.value(node.value if isinstance(node, ast.Starred) else node) for node in nodes]
        spread = [
            self.items(value) if isinstance(node, ast.Starred) else (value,)
            for node, value in zip(nodes, values, strict=True)
        ]
        if any(each is None for each in spread):
            self.escape(*values)
            return None
        return [value for each in spread for value in each or ()]

    def visit_Set(self, node: ast.Set) -> Value:
        parts = self.unpacked(node.elts)
        with suppress(NotKnown):
            return self.new_container(set(map(self.scalar, parts)) if parts is not None else None)
        self.escape(*(parts or ()))
        return self.new_container(None)

    def visit_Dict(self, node: ast.Dict) -> Value:
        keys = [UNKNOWN if name is None else self.value(name) for name in node.keys]
        values = [self.value(each) for each in node.values]
        with suppress(NotKnown):
            return self.new_container(dict(zip(map(self.scalar, keys), values, strict=True)))
        self.escape(*keys, *values)
        return self.new_container(None)

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        return self.operated(type(node.op), self.value(node.left), self.value(node.right))

    def operated(self, kind: type[ast.operator], left: Value, right: Value) -> Value:
        """Return the result of an operation on two values."""
        try:
            return self.taken_in(binary(kind, self.plain(left), self.plain(right)))
        except NotKnown:
            self.escape(left, right)
            return UNKNOWN

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value)
            return UNKNOWN if truth is None else not truth
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else UNKNOWN

    def visit_Compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        for position, (operation, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.value(right_node)
            found = self._compared(operation, left, right)
            if found is None:
                for rest in node.comparators[position + 1 :]:
                    self.branches(lambda rest=rest: self.value(rest), lambda: None)  # type: ignore[misc]
                return UNKNOWN
            if not found:
                return False
            left = right
        return True

    def _compared(self, operation: ast.cmpop, left: Value, right: Value) -> bool | None:
        with suppress(NotKnown):
            if not isinstance(operation, ast.Is | ast.IsNot):
                return bool(computed(COMPARISONS[type(operation)], self.plain(left), self.plain(right)))
            if UNKNOWN not in (left, right) and None in (left, right):
                return (left is right) == isinstance(operation, ast.Is)
        return None

    def visit_BoolOp(self, node: ast.BoolOp) -> Value:
        return self._rest_of_boolean(node.values, isinstance(node.op, ast.And))

    def _rest_of_boolean(self, nodes: list[ast.expr], is_and: bool) -> Value:
        value = self.value(nodes[0])
        if len(nodes) == 1:
            return value
        truth = self.truth(value)
        if truth is None:
            return self.branches(lambda: value, lambda: self._rest_of_boolean(nodes[1:], is_and))
        return self._rest_of_boolean(nodes[1:], is_and) if truth == is_and else value

    def visit_IfExp(self, node: ast.IfExp) -> Value:
        truth = self.truth(self.value(node.test))
        if truth is None:
            return self.branches(lambda: self.value(node.body), lambda: self.value(node.orelse))
        return self.value(node.body if truth else node.orelse)

    def visit_Subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        content = base if isinstance(base, str | tuple) else self.content(base)
        key = self.value(node.slice)
        if isinstance(content, str | tuple | list | dict):
            with suppress(NotKnown):
                found = computed(content.__getitem__, key if isinstance(key, slice) else self.scalar(key))
                return self.new_container(found) if isinstance(found, list) else found
        self.escape(base)
        return UNKNOWN

    def visit_Slice(self, node: ast.Slice) -> Value:
        bounds = [self.value(each) if each else None for each in (node.lower, node.upper, node.step)]
        return slice(*bounds) if all(isinstance(each, int | None) for each in bounds) else UNKNOWN

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Value:
        self.escape(self.value(node.value))
        return UNKNOWN
