"""The policy over the whole syntax tree.

RestrictedPython's transformer refuses what it does not know; we keep that and its list of frame and code attributes,
and give back what plans really write. Names are constants, so nearly all is decided here; what only the running program
knows is rewritten into a call of one of ``tables.HOOKS``. Lines never move.
"""

import ast

from sandbox.policy.classes import ClassPolicy
from sandbox.policy.hints import NAME_HINTS, STATEMENT_HINTS
from sandbox.policy.imports import ImportPolicy
from sandbox.policy.patterns import PatternPolicy
from sandbox.policy.rules import (
    ATTRIBUTE,
    CALL,
    NAME,
    STATEMENT,
    harmless_template,
    is_dunder,
    is_plain,
    last_name,
    may_read,
    may_write,
)
from sandbox.policy.tables import HOOKS, MARKS, PLAIN_ANNOTATIONS, RUNTIME_ATTRIBUTES

BY_NAME = frozenset({"getattr", "setattr", "delattr"})
"""Builtins whose second argument names an attribute."""


class PlanPolicy(ClassPolicy, ImportPolicy, PatternPolicy):
    """Visit a module once; then ``problems`` holds its faults, and the tree is ready to be compiled."""

    def visit_Module(self, node: ast.Module) -> ast.AST:  # noqa: N802
        """The whole tree; what needs all names known is settled at the end."""
        node = self.node_contents_visit(node)
        for name in self.missing:
            if name.id not in self.bound | self.bound_elsewhere:
                self.refuse(name, NAME, f"`{name.id}` is not available in plans", NAME_HINTS[name.id])
        self.check_members()
        return node

    def _allowed(self, node: ast.AST) -> ast.AST:
        return self.node_contents_visit(node)

    visit_Subscript = _allowed  # noqa: N815  (nothing a plan is handed has items that could be set, but containers)
    visit_With = _allowed  # noqa: N815
    visit_Lambda = _allowed  # noqa: N815

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        """Decide by the name; a store also asks the write guard about the object."""
        if isinstance(node.ctx, ast.Load):
            return self._read(self.node_contents_visit(node))
        if not may_write(node.attr):
            self.refuse_attribute(node, "set", node.attr)
        node.value = self.hook("write", node.value, self.visit(node.value))
        return node

    def _read(self, node: ast.Attribute) -> ast.AST:
        if node.attr in ("__class__", "__dict__"):
            return self.hook(node.attr, node, node.value)
        if not may_read(node.attr):
            self.refuse_attribute(node, "read", node.attr)
            return node
        if isinstance(node.value, ast.Name):
            self.members.append(node)
        if is_plain(node.attr) or _formats_harmlessly(node):
            return node
        return self.hook("attribute", node, node.value, ast.copy_location(ast.Constant(node.attr), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:  # noqa: N802
        """Python evaluates object and index once by itself; the old value of an attribute is read without the guard."""
        if isinstance(node.target, ast.Attribute) and (name := node.target.attr) in RUNTIME_ATTRIBUTES:
            hint = f"write it out: x.{name} = x.{name} + ..."
            self.refuse(node, ATTRIBUTE, f"the attribute `{name}` can't be updated in place", hint)
        return self.node_contents_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        """Keep that there is an annotation (dataclasses count them), not what it says."""
        node.annotation = ast.copy_location(_stripped(node.annotation), node.annotation)
        if isinstance(node.target, ast.Name) and not may_write(node.target.id):
            self.refuse_attribute(node, "set", node.target.id)  # in a class, it would name a field
        node.target = self.visit(node.target)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def guard_iter(self, node: ast.For | ast.comprehension) -> ast.AST:
        """Iteration needs no guard."""
        if getattr(node, "is_async", 0):
            self.refuse(node.target, STATEMENT, "`async for` is not available in plans", STATEMENT_HINTS["AsyncFor"][1])
        return self.node_contents_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:  # noqa: N802
        """Check the name that the exception is given."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        """Refuse early what the run-time guards would refuse; star-args need no guard."""
        for keyword in node.keywords:
            if keyword.arg is not None and is_dunder(keyword.arg):
                self.refuse(keyword, NAME, f"the argument name `{keyword.arg}` is not available", "choose a plain name")
        if isinstance(node.func, ast.Name):
            self._check_builtin(node, node.func.id)
        return self.node_contents_visit(node)

    def _check_builtin(self, node: ast.Call, name: str) -> None:
        if name == "print" and any(keyword.arg == "file" for keyword in node.keywords):
            self.refuse(node, CALL, "print takes no file= in plans", "leave file= out: what is printed is the output")
        elif name == "type" and len(node.args) > 1:
            self.refuse(node, CALL, "type() takes one argument in plans", "write a class statement")
        elif name in BY_NAME and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            allowed, attribute = (may_read if name == "getattr" else may_write), node.args[1].value
            if isinstance(attribute, str) and not allowed(attribute):
                self.refuse_attribute(node, "use", attribute)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Check the name, drop the annotation."""
        self.check_name(node, node.arg)
        node.annotation = None
        return node


def _formats_harmlessly(node: ast.Attribute) -> bool:
    """Whether this is ``.format`` of a literal that reaches nothing: then it needs no guard."""
    template = getattr(node.value, "value", None)
    if node.attr not in ("format", "format_map") or not isinstance(template, str):
        return False
    try:
        return isinstance(node.value, ast.Constant) and harmless_template(template)
    except ValueError:
        return True


def _stripped(annotation: ast.expr) -> ast.expr:
    """A harmless value instead of an annotation; the marks that dataclasses look for stay."""
    head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = last_name(head)
    if name in MARKS or (name in PLAIN_ANNOTATIONS and isinstance(annotation, ast.Name)):
        return ast.copy_location(ast.Name(HOOKS[name], ast.Load()), annotation)
    return ast.Constant(None)
