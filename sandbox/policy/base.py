"""The part of the policy that all its parts stand on: noting faults, walking the tree, checking names."""

import ast
import unicodedata
from collections.abc import Iterable
from typing import TypeVar

from RestrictedPython.transformer import RestrictingNodeTransformer

from planbook.sandbox.policy.hints import NAME_HINTS, STATEMENT_HINTS
from planbook.sandbox.policy.rules import ATTRIBUTE, NAME, STATEMENT, Problem, attribute_hint
from planbook.sandbox.policy.tables import REFUSED_NAMES

N = TypeVar("N", bound=ast.AST)
LEAVES = frozenset(
    kind
    for base in (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
    for kind in base.__subclasses__()
    if hasattr(RestrictingNodeTransformer, f"visit_{kind.__name__}")
)
"""Nodes without content that RestrictedPython allows: visiting each costs time and decides nothing."""


MAX_PROBLEMS = 100
"""Nobody repairs more at once, and each suggestion costs time: ten thousand misspelt imports took seconds."""


class Enough(Exception):
    """MAX_PROBLEMS are noted: there is no use in looking for more."""


class BasePolicy(RestrictingNodeTransformer):
    """RestrictedPython's transformer, which refuses every kind of node it does not know, with our names and faults."""

    def __init__(
        self, bound: Iterable[str] = (), known: frozenset[str] = frozenset(), modules: frozenset[str] = frozenset()
    ) -> None:
        super().__init__()
        self.known = known
        """Names that earlier code of the session has bound."""
        self.more_modules = modules
        """Modules beyond those of the standard library, with their submodules."""
        self.problems: list[Problem] = []
        self.bound: set[str] = set()
        """Names that the source binds, but by ``import``."""
        self.bound_elsewhere = frozenset(bound)
        """Names that are bound elsewhere, of a cell that comes in parts."""
        self.missing: list[ast.Name] = []
        """Uses of builtins that plans do not have."""

    def refuse(self, node: ast.AST, name: str, message: str, hint: str) -> None:
        """Note a fault. Raises Enough."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        self.problems.append(Problem(line, column, name, message, hint))
        if len(self.problems) == MAX_PROBLEMS:
            raise Enough

    def error(self, node: ast.AST, info: str) -> None:
        """RestrictedPython's way to note one."""
        self.refuse(node, STATEMENT, info, "write it with simpler statements")

    def not_allowed(self, node: ast.AST) -> None:
        """A kind of node that plans do not have."""
        what, hint = STATEMENT_HINTS.get(type(node).__name__, (f"`{type(node).__name__}`", "use simpler statements"))
        self.refuse(node, STATEMENT, f"{what} is not available in plans", hint)

    def refuse_attribute(self, node: ast.AST, verb: str, name: str) -> None:
        """Note that a plan reads, sets or matches an attribute that it may not."""
        self.refuse(node, ATTRIBUTE, f"plans may not {verb} the attribute `{name}`", attribute_hint(name))

    def node_contents_visit(self, node: N) -> N:
        """As RestrictedPython's, but with fewer frames per level, and without visiting operators."""
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                value[:] = [new for item in value for new in self._visited(item)]
            elif isinstance(value, ast.AST) and type(value) not in LEAVES:
                setattr(node, field, self.visit(value))
        return node

    def _visited(self, item: object) -> Iterable[object]:
        if not isinstance(item, ast.AST) or type(item) in LEAVES:
            return (item,)
        new = self.visit(item)
        return new if isinstance(new, list) else (new,)

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = True) -> None:
        """Judge a name that the source binds."""
        if name is not None:
            self.bound.add(name)
            self.judge_name(node, name)

    def judge_name(self, node: ast.AST, name: str) -> None:
        """Refuse a variable that leads to code nobody checked."""
        name = unicodedata.normalize("NFKC", name)
        if name in REFUSED_NAMES:
            self.refuse(node, NAME, f"the name `{name}` is not available in plans", attribute_hint(name))

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        """Check a variable."""
        if not isinstance(node.ctx, ast.Load):
            self.check_name(node, node.id)
        else:
            self.judge_name(node, node.id)
            if node.id in NAME_HINTS:
                self.missing.append(node)
        return node

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> ast.AST:  # noqa: N802
        """Check the names."""
        for name in node.names:
            self.check_name(node, name)
        return node

    visit_Nonlocal = visit_Global  # noqa: N815
