"""The policy over the whole syntax tree.

RestrictedPython's transformer refuses every kind of node that it does not know; we keep that, and give back what plans
write. Nearly all is decided here, by names. Two things only the running plan knows: the text that ``format`` is called
on, and whether ``__dict__`` is that of a module. Reading these becomes a call of the guard. Lines never move.
"""

import ast
import builtins

from planbook.sandbox.policy.hints import NAME_HINTS, STATEMENT_HINTS
from planbook.sandbox.policy.imports import ImportPolicy
from planbook.sandbox.policy.rules import NAME, STATEMENT, refused_in_template
from planbook.sandbox.policy.tables import FORMATS, GUARD, GUARDED_ATTRIBUTES, REFUSED_ATTRIBUTES, REFUSED_BUILTINS

BUILTINS = frozenset(dir(builtins)) - REFUSED_BUILTINS
BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr"})
"""Builtins whose second argument names an attribute."""


class PlanPolicy(ImportPolicy):
    """Visit a module once; then ``problems`` holds its faults, and the tree is ready to be compiled."""

    def visit_Module(self, node: ast.Module) -> ast.AST:  # noqa: N802
        """Visit the tree; what needs all names known is settled at the end."""
        node = self.node_contents_visit(node)
        for name in self.missing:
            if name.id not in self.bound | self.bound_elsewhere:
                self.refuse(name, NAME, f"`{name.id}` is not available in plans", NAME_HINTS[name.id])
        self.check_members()
        return node

    def _allowed(self, node: ast.AST) -> ast.AST:
        return self.node_contents_visit(node)

    def _named(self, node: ast.AST) -> ast.AST:
        """Check the name that the node binds, and visit what it consists of."""
        self.check_name(node, getattr(node, "name", None) or getattr(node, "arg", None))
        return self.node_contents_visit(node)

    visit_Subscript = visit_With = visit_Lambda = visit_Assign = visit_AugAssign = _allowed  # noqa: N815
    visit_TypeAlias = _allowed  # noqa: N815
    visit_Match = visit_match_case = visit_MatchSequence = visit_MatchOr = visit_MatchSingleton = _allowed  # noqa: N815
    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _named  # noqa: N815
    visit_TypeVar = visit_ParamSpec = visit_TypeVarTuple = _named  # noqa: N815

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802
        """Check the name, the annotations and the body."""
        self.check_name(node, node.name)
        self._bind_type_parameters(node)
        returns, node.returns = self._annotation(node.returns), None
        node = self.node_contents_visit(node)
        node.returns = returns
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # noqa: N802
        """Check the body, and the name, which is bound after it."""
        self._bind_type_parameters(node)
        node = self.node_contents_visit(node)
        self.check_name(node, node.name)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Check the name and the annotation."""
        self.check_name(node, node.arg)
        node.annotation = self._annotation(node.annotation)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        """Check all parts."""
        annotation = self._annotation(node.annotation)
        node.annotation = ast.Constant(None)
        node = self.node_contents_visit(node)
        node.annotation = annotation or node.annotation
        return node

    def _bind_type_parameters(self, node: ast.AST) -> None:
        self.bound.update(parameter.name for parameter in getattr(node, "type_params", ()))

    def _annotation(self, node: ast.expr | None) -> ast.expr | None:
        """Return the annotation; as a text where it reads what nothing above defines: models forget such imports."""
        if node is None:
            return None
        places = (self.bound, self.modules, self.known, BUILTINS)
        names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
        known = all(any(name in place for place in places) for name in names)
        text = None if known else ast.unparse(node)
        visited: ast.expr = self.visit(node)
        return visited if text is None else ast.copy_location(ast.Constant(text), node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:  # noqa: N802
        """Check the name of the rest, and the keys."""
        self.check_name(node, node.rest)
        self._check_expressions(node.keys)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:  # noqa: N802
        """Check the value: a constant, or a dotted name."""
        self._check_expressions([node.value])
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:  # noqa: N802
        """Check the class, and the attributes that the pattern reads."""
        self._check_expressions([node.cls])
        for name in REFUSED_ATTRIBUTES.intersection(node.kwd_attrs):
            self.refuse_attribute(node, "match", name)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        return node

    def _check_expressions(self, parts: list[ast.expr]) -> None:
        """Check what stands in a pattern, which must stay as it is."""
        for part in (each for whole in parts for each in ast.walk(whole)):
            if isinstance(part, ast.Attribute) and part.attr in REFUSED_ATTRIBUTES:
                self.refuse_attribute(part, "match", part.attr)
            elif isinstance(part, ast.Name):
                self.visit_Name(part)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        """Decide by the name, or have the guard decide."""
        node = self.node_contents_visit(node)
        reads = isinstance(node.ctx, ast.Load)
        if node.attr in REFUSED_ATTRIBUTES:
            self.refuse_attribute(node, "read" if reads else "set", node.attr)
        if isinstance(node.value, ast.Name):
            self.members.append(node)
        if not reads or node.attr not in GUARDED_ATTRIBUTES or _formats_harmlessly(node):
            return node
        guard = ast.copy_location(ast.Name(GUARD, ast.Load()), node)
        name = ast.copy_location(ast.Constant(node.attr), node)
        return ast.copy_location(ast.Call(guard, [node.value, name], []), node)

    def guard_iter(self, node: ast.For | ast.comprehension) -> ast.AST:
        """Iteration needs no guard."""
        if getattr(node, "is_async", 0):
            self.refuse(node.target, STATEMENT, "`async for` is not available in plans", STATEMENT_HINTS["AsyncFor"][1])
        return self.node_contents_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        """Refuse early what the guards of ``getattr`` and its like would refuse."""
        if isinstance(node.func, ast.Name) and node.func.id in BY_NAME and len(node.args) > 1:
            name = getattr(node.args[1], "value", None)
            if isinstance(name, str) and name in REFUSED_ATTRIBUTES:
                self.refuse_attribute(node, "use", name)
        return self.node_contents_visit(node)


def _formats_harmlessly(node: ast.Attribute) -> bool:
    """Return whether this is ``.format`` of a literal that reads nothing refused: then it needs no guard."""
    template = getattr(node.value, "value", None)
    if node.attr not in FORMATS or not isinstance(node.value, ast.Constant) or not isinstance(template, str):
        return False
    try:
        return refused_in_template(template) is None
    except ValueError:
        return True
