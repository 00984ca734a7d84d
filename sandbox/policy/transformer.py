"""Apply the language policy to a syntax tree.

RestrictedPython's transformer refuses every kind of node that it has no method for. The subclass here allows the nodes
that plans use, and refuses the names, attributes and imports that the tables in ``rules`` list. The attributes that
``format`` reads depend on the template. So an expression such as ``text.format`` is replaced by a call to a function,
the *guard*, which checks the template when the plan runs. Line numbers never change. A *cell* is a piece of plan code
that runs as a unit.
"""

import ast
import builtins
from collections.abc import Iterable
from functools import cache
from typing import TypeVar

from RestrictedPython.transformer import RestrictingNodeTransformer

from planbook.sandbox.policy.rules import (
    FORBIDDEN_ATTRIBUTE,
    FORBIDDEN_IMPORT,
    FORBIDDEN_NAME,
    FORBIDDEN_STATEMENT,
    FORMAT_METHODS,
    GUARD,
    MEMBER_HINTS,
    MODULE_HINTS,
    MODULES,
    NAME_HINTS,
    REFUSED_ATTRIBUTES,
    REFUSED_BUILTINS,
    REFUSED_NAMES,
    STATEMENT_HINTS,
    attribute_hint,
    catches_import,
    is_harmless_format,
    members,
    public_names,
    unqualified_name,
)
from planbook.sandbox.suggest import suggestion
from planbook.sandbox.types import Fault, FaultKind

N = TypeVar("N", bound=ast.AST)
LEAF_TYPES = frozenset(
    kind
    for base in (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
    for kind in base.__subclasses__()
    if hasattr(RestrictingNodeTransformer, f"visit_{kind.__name__}")
)
"""Types of nodes without children that RestrictedPython always allows, such as ``ast.Add``. They are visited only in
lists.
"""
ANNOTATION_FIELDS = ("annotation", "returns")
FIRST = ("type_params", *ANNOTATION_FIELDS)
"""Fields that are visited first: annotations may use the type parameters, but no names that later fields bind."""
BUILTINS = frozenset(dir(builtins)) - REFUSED_BUILTINS
ATTRIBUTE_BUILTINS = frozenset({"getattr", "hasattr", "setattr", "delattr"})
"""Built-ins whose second argument is the name of an attribute."""
MAX_PROBLEMS = 100
"""Maximum number of problems in one report. Suggestions for ten thousand misspelt imports would take seconds."""
MAX_SHOWN_NAMES = 60
"""Maximum number of a module's names that a hint lists."""
_IMPORT_HINT = f"what a plan is given needs no import; plans may import: {', '.join(sorted(MODULES))}"


class EnoughProblems(Exception):
    """MAX_PROBLEMS problems have been found, so the visit ends early."""


@cache
def _visiting_order(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields of a node in the order in which they are visited."""
    return *(field for field in FIRST if field in fields), *(field for field in fields if field not in FIRST)


def _ignores_failed_imports(node: ast.Try | ast.If | ast.With) -> bool:
    """Return whether imports in the body of a statement never run, or may fail without an effect."""
    if isinstance(node, ast.If):
        return unqualified_name(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        return any(unqualified_name(call.func) == "suppress" and catches_import(ast.Tuple(call.args)) for call in calls)
    return any(catches_import(handler.type) for handler in node.handlers)


class PlanPolicy(RestrictingNodeTransformer):
    """The policy. Once a module has been visited, its tree may be compiled if ``problems`` is empty."""

    def __init__(
        self,
        bound_elsewhere: Iterable[str] = (),
        earlier_names: frozenset[str] = frozenset(),
        extra_modules: frozenset[str] = frozenset(),
        postpones_annotations: bool = False,
    ) -> None:
        super().__init__()
        self.earlier_names = earlier_names
        """Names that earlier code of the session has bound."""
        self.extra_modules = extra_modules
        """Modules beyond the standard library that plans may import, with their submodules."""
        self.problems: list[Fault] = []
        self.bound: set[str] = set()
        """Names that the source binds, except by ``import module``."""
        self.bound_elsewhere = frozenset(bound_elsewhere)
        """Names that other parts of the cell bind."""
        self.unavailable_uses: list[ast.Name] = []
        """Uses of names such as ``open``, which are refused as built-ins but allowed if the plan defines them."""
        self.imported_modules: dict[str, str] = {}
        """Maps each variable that an ``import`` binds to its module."""
        self.variable_attributes: list[ast.Attribute] = []
        """Every ``variable.attribute`` in the source. Only at the end is it known which variables are modules."""
        self.postpones_annotations = postpones_annotations
        """True if Python itself keeps annotations as strings, because of ``from __future__ import annotations``."""
        self._unchecked_blocks = 0
        """Number of enclosing blocks that may import anything, since they never run or catch the error."""

    def refuse(self, node: ast.AST, fault_type: str, message: str, hint: str) -> None:
        """Record a problem at the position of a node. Raises EnoughProblems if MAX_PROBLEMS are now recorded."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        self.problems.append(Fault(FaultKind.CHECK, fault_type, message, line, column, hint=hint))
        if len(self.problems) == MAX_PROBLEMS:
            raise EnoughProblems

    def error(self, node: ast.AST, info: str) -> None:
        """Record a problem that RestrictedPython has found."""
        self.refuse(node, FORBIDDEN_STATEMENT, info, "write it with simpler statements")

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse a kind of node that plans may not use."""
        name, hint = STATEMENT_HINTS.get(type(node).__name__, (f"`{type(node).__name__}`", "use simpler statements"))
        self.refuse(node, FORBIDDEN_STATEMENT, f"{name} is not available in plans", hint)

    def refuse_attribute(self, node: ast.AST, verb: str, name: str) -> None:
        """Refuse to read, set or match an attribute."""
        self.refuse(node, FORBIDDEN_ATTRIBUTE, f"plans may not {verb} the attribute `{name}`", attribute_hint(name))

    def node_contents_visit(self, node: N) -> N:
        """Visit the children except leaves. RestrictedPython's own method would use more stack frames per level."""
        for field in _visiting_order(node._fields):
            self._visit_field(node, field)
        return node

    def _visit_field(self, node: ast.AST, field: str) -> None:
        value = getattr(node, field, None)
        if isinstance(value, list):
            value[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
        elif isinstance(value, ast.AST) and type(value) not in LEAF_TYPES:
            setattr(node, field, self._check_annotation(value) if field in ANNOTATION_FIELDS else self.visit(value))

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Visit a module. Checks that need every name that the module binds come last."""
        node = self.node_contents_visit(node)
        for name in self.unavailable_uses:
            if name.id not in self.bound | self.bound_elsewhere:
                self.refuse(name, FORBIDDEN_NAME, f"`{name.id}` is not available in plans", NAME_HINTS[name.id])
        for member in self.variable_attributes:
            variable = getattr(member.value, "id", "")
            if variable in self.imported_modules and variable not in self.bound:
                self._check_member(member, self.imported_modules[variable], member.attr)
        return node

    def _allow(self, node: ast.AST) -> ast.AST:
        return self.node_contents_visit(node)

    visit_Subscript = visit_Lambda = visit_Assign = visit_AugAssign = visit_AnnAssign = _allow
    visit_TypeAlias = visit_Match = visit_match_case = _allow

    def visit_Try(self, node: ast.Try | ast.If | ast.With) -> ast.AST:
        """Visit a statement. If it ignores failed imports, its body may import anything: refused imports just fail."""
        ignores = _ignores_failed_imports(node)
        for field in node._fields:
            unchecked = ignores and field == "body"
            self._unchecked_blocks += unchecked
            self._visit_field(node, field)
            self._unchecked_blocks -= unchecked
        return node

    visit_TryStar = visit_If = visit_With = visit_Try  # type: ignore[assignment]

    def guard_iter(self, node: ast.For | ast.comprehension) -> ast.AST:
        """Allow iteration, and refuse ``async for``."""
        if getattr(node, "is_async", 0):
            hint = STATEMENT_HINTS["AsyncFor"][1]
            self.refuse(node.target, FORBIDDEN_STATEMENT, "`async for` is not available in plans", hint)
        return self.node_contents_visit(node)

    # Names.

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = True) -> None:
        """Record and check a name that the source binds."""
        if name is not None:
            self.bound.add(name)
            self.check_variable(node, name)

    def check_variable(self, node: ast.AST, name: str) -> None:
        """Refuse a variable that a plan could use to run unchecked code."""
        if name in REFUSED_NAMES:
            self.refuse(node, FORBIDDEN_NAME, f"the name `{name}` is not available in plans", attribute_hint(name))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Check a variable that the source reads or binds."""
        if not isinstance(node.ctx, ast.Load):
            self.check_name(node, node.id)
        else:
            self.check_variable(node, node.id)
            if node.id in NAME_HINTS:
                self.unavailable_uses.append(node)
        return node

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> ast.AST:
        """Check the names that a ``global`` or ``nonlocal`` statement declares."""
        for name in node.names:
            self.check_name(node, name)
        return node

    visit_Nonlocal = visit_Global

    def _check_named(self, node: ast.AST) -> ast.AST:
        """Check the name that a node binds, and the parts of the node."""
        self.check_name(node, getattr(node, "name", None) or getattr(node, "arg", None))
        return self.node_contents_visit(node)

    visit_FunctionDef = visit_arg = visit_ExceptHandler = _check_named
    visit_TypeVar = visit_ParamSpec = visit_TypeVarTuple = _check_named

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Check the body of a class, and then the name, which Python binds after it has run the body."""
        node = self.node_contents_visit(node)
        self.check_name(node, node.name)
        return node

    def _check_annotation(self, node: ast.AST) -> ast.AST:
        """Check and return an annotation, as a string if a name in it is undefined, since models forget imports."""
        parts = list(ast.walk(node))
        inner_names = {part.arg for part in parts if isinstance(part, ast.arg)}  # of lambdas and comprehensions
        inner_names |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        defined = (inner_names, self.bound, self.imported_modules, self.earlier_names, BUILTINS)
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if self.postpones_annotations or all(any(name in group for group in defined) for name in names):
            return self.visit(node)  # type: ignore[no-any-return]
        text = ast.copy_location(ast.Constant(ast.unparse(node)), node)
        self.visit(node)
        return text

    def _check_pattern(self, node: ast.pattern) -> ast.AST:
        """Check the names in a pattern. A pattern cannot contain calls, so the guard is not used."""
        for part in ast.walk(node):
            self.check_name(part, getattr(part, "name", None) or getattr(part, "rest", None))
            for name in REFUSED_ATTRIBUTES.intersection((getattr(part, "attr", ""), *getattr(part, "kwd_attrs", ()))):
                self.refuse_attribute(part, "match", name)
            if isinstance(part, ast.Name):
                self.visit_Name(part)
        return node

    visit_MatchValue = visit_MatchSingleton = visit_MatchSequence = visit_MatchMapping = _check_pattern
    visit_MatchClass = visit_MatchStar = visit_MatchAs = visit_MatchOr = _check_pattern

    # Attributes.

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Check the name of an attribute. Replace ``.format`` by a call to the guard, which checks the template."""
        node = self.node_contents_visit(node)
        is_read = isinstance(node.ctx, ast.Load)
        if node.attr in REFUSED_ATTRIBUTES:
            self.refuse_attribute(node, "read" if is_read else "set", node.attr)
        if isinstance(node.value, ast.Name):
            self.variable_attributes.append(node)
        if not is_read or node.attr not in FORMAT_METHODS or is_harmless_format(node):
            return node
        guard = ast.copy_location(ast.Name(GUARD, ast.Load()), node)
        name = ast.copy_location(ast.Constant(node.attr), node)
        return ast.copy_location(ast.Call(guard, [node.value, name], []), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Refuse calls of functions such as ``getattr`` that their guards would certainly refuse at run time."""
        if isinstance(node.func, ast.Name) and node.func.id in ATTRIBUTE_BUILTINS and len(node.args) > 1:
            name = getattr(node.args[1], "value", None)
            if isinstance(name, str) and name in REFUSED_ATTRIBUTES:
                self.refuse_attribute(node, "use", name)
        return self.node_contents_visit(node)

    # Imports.

    def visit_Import(self, node: ast.Import) -> ast.AST:
        """Allow only the listed modules."""
        for alias in node.names:
            top = alias.name.partition(".")[0]
            variable, module = (alias.asname, alias.name) if alias.asname else (top, top)
            self.check_variable(node, variable)
            if not self._may_import(alias.name):
                self._refuse_module(node, alias.name)
            elif self.imported_modules.setdefault(variable, module) != module:
                self.bound.add(variable)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Allow only the names of the listed modules, and replace ``*`` by these names.

        Python itself checks imports from ``__future__``.
        """
        module = "." * node.level + (node.module or "")
        if module == "__future__":
            self.postpones_annotations |= any(alias.name == "annotations" for alias in node.names)
            return node
        if not self._may_import(module):
            self._refuse_module(node, module)
            return node
        for alias in node.names:
            if alias.name == "*" and self._is_listed(module):
                node.names = [ast.copy_location(ast.alias(name), alias) for name in public_names(module)]
                self.bound.update(name.name for name in node.names)
                return node if node.names else ast.copy_location(ast.Pass(), node)
            self.check_name(node, alias.asname or alias.name)
            self._check_member(node, module, alias.name)
        return node

    def _is_listed(self, module: str) -> bool:
        """Return whether the full name of a module is listed, so that the host may import it to check its members."""
        return module in MODULES or module in self.extra_modules

    def _may_import(self, module: str) -> bool:
        return module in MODULES or module.partition(".")[0] in self.extra_modules

    def _refuse_module(self, node: ast.AST, name: str) -> None:
        if self._unchecked_blocks:
            return
        hint = MODULE_HINTS.get(name) or MODULE_HINTS.get(name.partition(".")[0])
        hint = hint or suggestion(name, MODULES) or _IMPORT_HINT
        self.refuse(node, FORBIDDEN_IMPORT, f"there is no module `{name}` in plans", hint)

    def _check_member(self, node: ast.AST, module: str, name: str) -> None:
        if not self._is_listed(module) or name.startswith("__") or f"{module}.{name}" in MODULES:
            return
        if name in members(module) or self._unchecked_blocks:
            return
        exported = public_names(module)
        hint = MEMBER_HINTS.get(f"{module}.{name}") or suggestion(name, exported)
        hint = hint or f"{module} has: {', '.join(exported[:MAX_SHOWN_NAMES])}"
        self.refuse(node, FORBIDDEN_IMPORT, f"`{module}.{name}` is not available in plans", hint)
