"""Evaluate expressions in a dry run.

An expression that cannot be evaluated has the value UNKNOWN, and its operands *escape*: they may change, so they become
unknown. While the walk is *blind*, code that is not followed may act at any time, so the values of the session's
attributes are unknown.
"""

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count

from planbook.sandbox.dry.values import (
    COMPARISONS,
    MAX_CHARS,
    MAX_ITEMS,
    UNKNOWN,
    Container,
    ErrorRaised,
    HostRef,
    KnownObject,
    LazyItems,
    NotKnown,
    PlainValue,
    Scalar,
    UnknownType,
    Value,
    apply_operator,
    compute,
)
from planbook.sandbox.dry.walk import BaseWalk
from planbook.sandbox.suggest import did_you_mean


class Expressions(BaseWalk):
    """Evaluates expressions, and converts values of the dry run to and from plain Python values."""

    def to_python(self, value: Value) -> PlainValue:
        """Convert a value of the dry run to a plain Python value, such as a list.

        Raises NotKnown if a part of the value is unknown, or if it has too many parts.
        """
        return self._to_python(value, count(1))

    def _to_python(self, value: Value, parts: Iterator[int]) -> PlainValue:
        number = next(parts)
        if number % 10 == 0:
            self.step()
        if number > MAX_ITEMS:
            raise NotKnown
        if isinstance(value, tuple):
            return tuple(self._to_python(item, parts) for item in value)
        if isinstance(value, Scalar):
            self._steps += len(value) / 500 if isinstance(value, str) else 0
            return value
        content = self.items(value) if isinstance(value, LazyItems) else self.content(value)
        if content is None:
            raise NotKnown
        if isinstance(content, dict):
            return {self._to_python(key, parts): self._to_python(item, parts) for key, item in content.items()}
        return [self._to_python(item, parts) for item in content]

    def to_flat_python(self, value: Value) -> PlainValue:
        """Convert a value as ``to_python`` does, but raise NotKnown if it contains lists or dicts.

        ``to_python`` copies lists and dicts, so a result such as ``max(lists)`` would be a copy, not the list itself.
        """
        plain = self.to_python(value)
        if not isinstance(value, str) and any(map(_holds_container, self.items(value) or ())):
            raise NotKnown
        return plain

    def from_python(self, value: PlainValue) -> Value:
        """Convert a plain Python value to a value of the dry run."""
        if isinstance(value, list):
            return self.new_container([self.from_python(item) for item in value])
        if isinstance(value, dict):
            return self.new_container({self.from_python(key): self.from_python(item) for key, item in value.items()})
        if isinstance(value, tuple):
            return self.tuple_of(map(self.from_python, value))
        return value if isinstance(value, Scalar) else UNKNOWN

    def as_dict_key(self, value: Value) -> Value:
        """Return a value if it can be the key of a dict: a string, bytes, a number, None or a tuple of such values.

        Raises NotKnown for any other value.
        """
        if isinstance(value, tuple):
            self._steps += len(value) / 100
            return tuple(map(self.as_dict_key, value))
        if isinstance(value, Scalar):
            return value
        raise NotKnown

    def evaluate(self, node: ast.expr) -> Value:
        """Return the value of an expression. Raises PathEnded if no path yields a value."""
        self._steps += 0.2
        return self.visit(node)

    def visit_parts(self, node: ast.AST) -> Value:
        """Evaluate the parts of an expression only for their effects, and return UNKNOWN as its value."""
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.escape(self.evaluate(part))
        return UNKNOWN

    def visit_Constant(self, node: ast.Constant) -> Value:
        return node.value if isinstance(node.value, Scalar) else UNKNOWN

    def visit_Name(self, node: ast.Name) -> Value:
        return self.look_up(node.id, self.frame)

    def visit_Attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.evaluate(node.value), node.attr)

    def attribute(self, base: Value, name: str) -> Value:
        """Return the value of the attribute ``name`` of ``base``."""
        if isinstance(base, KnownObject):
            if name not in base.fields and not name.startswith("_"):
                raise ErrorRaised(AttributeError(f"there is no attribute {name}{did_you_mean(name, base.fields)}"))
            return base.fields.get(name, UNKNOWN)
        if not isinstance(base, HostRef):
            self.escape(base)
            return UNKNOWN
        path = f"{base.path}.{name}"
        if path in self.attributes:
            return UNKNOWN if self.blind else self.from_python(self.state.knowledge.attribute(path))
        return HostRef(path)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Value:
        parts = [part for part in map(self.evaluate, node.values) if isinstance(part, str)]
        is_known = len(parts) == len(node.values) and sum(map(len, parts)) <= MAX_CHARS
        return "".join(parts) if is_known else UNKNOWN

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Value:
        value = self.evaluate(node.value)
        if node.format_spec is not None:
            return self.visit_parts(node.format_spec)
        is_known = node.conversion in (-1, ord("s")) and isinstance(value, str | int | float | None)
        return str(value) if is_known else UNKNOWN

    def visit_Tuple(self, node: ast.Tuple) -> Value:
        parts = self.unpack(node.elts)
        return UNKNOWN if parts is None else self.tuple_of(parts)

    def visit_List(self, node: ast.List) -> Value:
        return self.new_container(self.unpack(node.elts))

    def unpack(self, nodes: list[ast.expr]) -> list[Value] | None:
        """Return the values of expressions in order. ``*items`` adds each item.

        Return None if the number of values is unknown or too large.
        """
        values: list[Value] | None = []
        for node in nodes:
            value = self.evaluate(node.value if isinstance(node, ast.Starred) else node)
            items = self.items(value) if isinstance(node, ast.Starred) else (value,)
            if items is None or values is None or len(values) > MAX_ITEMS:
                self.escape(value, *(values or ()))
                values = None
            else:
                values.extend(items)
                self._steps += len(items) / 100
        return values

    def visit_Dict(self, node: ast.Dict) -> Value:
        content: dict[Value, Value] | None = {}
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            key = self.evaluate(key_node) if key_node is not None else UNKNOWN
            value = self.evaluate(value_node)
            with suppress(NotKnown):
                if content is not None:
                    content[self.as_dict_key(key)] = value
                    continue
            self.escape(key, value, *(content.values() if content else ()))
            content = None
        return self.new_container(content)

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        return self.operate(type(node.op), self.evaluate(node.left), self.evaluate(node.right))

    def operate(self, kind: type[ast.operator], left: Value, right: Value) -> Value:
        """Return the result of a binary operation."""
        try:
            return self.from_python(apply_operator(kind, self.to_flat_python(left), self.to_flat_python(right)))
        except NotKnown:
            self.escape(left, right)
            return UNKNOWN

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value)
            return UNKNOWN if isinstance(truth, UnknownType) else not truth
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else UNKNOWN

    def visit_Compare(self, node: ast.Compare) -> Value:
        left, right = self.evaluate(node.left), self._evaluate_right_side(node.ops[0], node.comparators[0])
        for operation, operand in zip(node.ops[1:], node.comparators[1:], strict=True):
            # Python evaluates this operand only if all comparisons to its left are true
            self.follow_branches(partial(self._evaluate_right_side, operation, operand), lambda: None)
        return UNKNOWN if len(node.ops) > 1 else self._compare(node.ops[0], left, right)

    def _evaluate_right_side(self, operation: ast.cmpop, node: ast.expr) -> Value:
        """Return the right side of a comparison. If it may be a generator, it escapes: ``in`` would run its code."""
        value = self.evaluate(node)
        if isinstance(operation, ast.In | ast.NotIn) and isinstance(value, HostRef):
            self.escape(value)
        return value

    def _compare(self, operation: ast.cmpop, left: Value, right: Value) -> bool | UnknownType:
        if isinstance(operation, ast.Is | ast.IsNot):
            known = None in (left, right) and not any(isinstance(side, UnknownType | HostRef) for side in (left, right))
            return (left is right) == isinstance(operation, ast.Is) if known else UNKNOWN
        try:
            return bool(compute(COMPARISONS[type(operation)], self.to_python(left), self.to_python(right)))
        except NotKnown:
            return UNKNOWN

    def visit_BoolOp(self, node: ast.BoolOp) -> Value:
        return self._evaluate_operands(node.values, isinstance(node.op, ast.And))

    def _evaluate_operands(self, nodes: list[ast.expr], is_and: bool) -> Value:
        """Return the value of operands joined by ``and`` or ``or``. Evaluate only the operands that Python would."""
        value = self.evaluate(nodes[0])
        if len(nodes) == 1:
            return value
        truth = self.truth(value)
        if isinstance(truth, UnknownType):
            return self.follow_branches(lambda: value, lambda: self._evaluate_operands(nodes[1:], is_and))
        return self._evaluate_operands(nodes[1:], is_and) if truth == is_and else value

    def visit_IfExp(self, node: ast.IfExp) -> Value:
        return self.choose_branch(node.test, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse))

    def choose_branch(self, test: ast.expr, body: Callable[[], Value], orelse: Callable[[], Value]) -> Value:
        """Follow the branch that a condition selects, or both branches if the condition is unknown."""
        truth = self.truth(self.evaluate(test))
        if isinstance(truth, UnknownType):
            return self.follow_branches(body, orelse)
        return body() if truth else orelse()

    def visit_Subscript(self, node: ast.Subscript) -> Value:
        return self.item(self.evaluate(node.value), self.evaluate(node.slice))

    def visit_Slice(self, node: ast.Slice) -> Value:
        bounds = [self.evaluate(bound) if bound else None for bound in (node.lower, node.upper, node.step)]
        return slice(*bounds) if all(isinstance(bound, int | None) for bound in bounds) else UNKNOWN

    def item(self, base: Value, key: Value) -> Value:
        """Return an item of a string, tuple, list or dict, or a slice of a sequence."""
        content = base if isinstance(base, str | tuple) else self.content(base)
        if isinstance(content, str | tuple | list | dict):
            self._steps += len(content) / 100 if isinstance(key, slice) else 0
            with suppress(NotKnown):
                item = compute(content.__getitem__, key if isinstance(key, slice) else self.as_dict_key(key))
                return self.new_container(item) if isinstance(item, list) else item
        self.escape(base)
        return UNKNOWN

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.assign(node.target.id, value, self.walrus_frame())
        return value


def _holds_container(value: Value) -> bool:
    """Return whether a value is a list or dict, or a tuple that contains one."""
    return isinstance(value, Container) or (isinstance(value, tuple) and any(map(_holds_container, value)))
