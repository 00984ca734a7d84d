"""The part of the policy that all its parts stand on: noting faults, walking the tree, checking names."""

import ast
import unicodedata
from collections.abc import Iterable
from typing import TypeVar

from RestrictedPython.transformer import RestrictingNodeTransformer

from sandbox.policy.rules import ATTRIBUTE, NAME, STATEMENT, Problem, attribute_hint, is_hidden
from sandbox.policy.tables import ATTRIBUTE_HINTS, CLASS_NAMES, HOOKS, NAME_HINTS, READABLE_NAMES, STATEMENT_HINTS

N = TypeVar("N", bound=ast.AST)
E = TypeVar("E", bound=ast.expr)
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

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[Problem] = []
        self.bound: set[str] = set()
        """Names that the source binds, but by ``import``."""
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

    def hook(self, hook: str, like: ast.expr, *arguments: ast.expr) -> ast.Call:
        """A call of one of the hooks, at the place of ``like``."""
        function = ast.copy_location(ast.Name(HOOKS[hook], ast.Load()), like)
        return ast.copy_location(ast.Call(function, list(arguments), []), like)

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:
        """A name that the source binds: refuse what Python or the sandbox gives a meaning.

        Special methods may be bound where ``allow_magic_methods`` is set.
        """
        if name is not None:
            self.bound.add(name)
            self.judge_name(node, name, CLASS_NAMES if allow_magic_methods else frozenset())

    def judge_name(self, node: ast.AST, name: str, exceptions: frozenset[str]) -> None:
        """Refuse a name with a meaning of its own, but for the exceptions."""
        name = unicodedata.normalize("NFKC", name)
        if name.startswith("_") and is_hidden(name) and name not in exceptions:
            hint = ATTRIBUTE_HINTS.get(name, "choose a name without underscores at its end")
            self.refuse(node, NAME, f"the name `{name}` is not available in plans", hint)

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        """Check a variable."""
        if not isinstance(node.ctx, ast.Load):
            self.check_name(node, node.id, allow_magic_methods=True)
        else:
            self.judge_name(node, node.id, READABLE_NAMES)
            if node.id in NAME_HINTS:
                self.missing.append(node)
        return node

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> ast.AST:  # noqa: N802
        """Check the names."""
        for name in node.names:
            self.check_name(node, name)
        return node

    visit_Nonlocal = visit_Global  # noqa: N815
