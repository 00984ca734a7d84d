"""Find where each name is bound and used, in a single walk over the code in evaluation order.

The *order* of a binding or use is a number, which is lower if Python evaluates it earlier. The body of a function runs
at an unknown time after its definition. So if the body uses a name from outside the function, the use is *deferred*:
any binding may run before it. If the body binds a name outside the function (``global``, ``nonlocal``), the binding has
the order ANY_TIME.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from functools import cached_property
from typing import Any

ANY_TIME = NO_BLOCK = -1
NAMESPACES = frozenset({"globals", "locals", "vars"})


class ScopeKind(Enum):
    """The kind of code that a scope belongs to. A lambda is a FUNCTION, a generator expression a COMPREHENSION."""

    MODULE = auto()
    FUNCTION = auto()
    CLASS = auto()
    COMPREHENSION = auto()


class Guard(IntEnum):
    """How the ``try`` statements around the use of a name catch the NameError if the name is undefined."""

    NONE = 0
    ANY_ERROR = 1
    """A bare ``except``, or one that names Exception or BaseException, may catch the NameError by accident."""
    NAME_ERROR = 2
    """An ``except`` that names NameError or UnboundLocalError shows that the name may be undefined."""


@dataclass(slots=True)
class Binding:
    """One place in the code that gives a name a value.

    ``value`` is the assigned expression if the binding is a plain ``name = value``. ``loops`` are the numbers of the
    loops around the binding, outermost first.
    """

    node: ast.AST
    order: int
    loops: tuple[int, ...] = ()
    value: ast.expr | None = None
    end_order: int | None = None
    """The order at which Python deletes the name at the end of its handler, for ``except ... as name``."""
    text_order: int = 0
    """The order that follows from the position in the source, even if ``order`` is ANY_TIME. An earlier use sees the
    binding only if one loop contains both.
    """


@dataclass(slots=True)
class NameScope:
    """A namespace of the code: its variables, and the places that bind and delete them.

    ``deferred`` is True if the code of the scope runs later than the code around it, as the body of a function does.
    """

    kind: ScopeKind
    parent: "NameScope | None" = None
    deferred: bool = False
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    deletions: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Maps each name to a pair for each ``del name``: its order, and the number of its innermost block or NO_BLOCK."""
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    def outward(self) -> Iterator["NameScope"]:
        """Yield this scope and the scopes around it, innermost first."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


@dataclass(slots=True)
class Use:
    """One place in the code that reads or deletes a name.

    ``loops`` and ``blocks`` are the numbers of the loops and blocks around the use, outermost first.
    """

    node: ast.Name
    scope: NameScope
    order: int
    loops: tuple[int, ...]
    blocks: tuple[int, ...]
    guard: Guard
    in_annotation: bool


@dataclass
class Scopes:
    """The scopes, bindings and uses of names in a piece of code, and other facts that the walk collects."""

    module: NameScope
    uses: list[Use] = field(default_factory=list)
    accesses: list[tuple[ast.Attribute, NameScope]] = field(default_factory=list)
    """Every ``object.attribute``, with the scope in which it occurs."""
    calls: list[tuple[ast.Call, NameScope]] = field(default_factory=list)
    blocks: list[Sequence[ast.stmt]] = field(default_factory=list)
    """Every list of statements, such as the body of a loop. The number of a block is its index in this list."""
    misplaced: list[ast.stmt] = field(default_factory=list)
    """Every ``return`` outside a function, and every ``break`` and ``continue`` outside a loop."""
    binds_any_name: bool = False
    """True if a star import, or a function such as ``globals``, may bind any name."""

    def find(self, name: str, scope: NameScope) -> tuple[NameScope | None, bool]:
        """Return the scope that binds a name used in ``scope``, or None, and True if the use is deferred."""
        deferred = False
        for current in scope.outward():
            if name in current.globals:
                return (self.module if name in self.module.bindings else None), True
            if name in current.bindings and (current is scope or current.kind is not ScopeKind.CLASS):
                return current, deferred
            deferred = deferred or current.deferred
        return None, deferred

    @cached_property
    def local_names(self) -> frozenset[str]:
        """The names that functions, classes and comprehensions bind. Scopes in which no name is read are ignored."""
        scopes = {id(use.scope): use.scope for use in self.uses if use.scope.parent}
        return frozenset(name for scope in scopes.values() for name in scope.bindings)

    def free_names(self) -> set[str]:
        """Return the names that the code reads or deletes but does not bind, including those in annotations."""
        return {use.node.id for use in self.uses if self.find(use.node.id, use.scope)[0] is None}


def scopes_of(tree: ast.AST) -> Scopes:
    """Return the scopes of a module, statement or expression. Raises RecursionError if it is nested too deeply."""
    walker = _Walker()
    walker.visit(tree)
    return walker.result


class _Walker(ast.NodeVisitor):
    """Visits the code in the order of its evaluation, and records bindings and uses in ``result``."""

    def __init__(self) -> None:
        self.scope = NameScope(ScopeKind.MODULE)
        self.result = Scopes(self.scope)
        self.last_order = 0
        self.loops: tuple[int, ...] = ()
        self.outer_loops: tuple[int, ...] = ()
        """Numbers of the loops around the function whose body is being visited. ``loops`` are the loops inside it."""
        self.open_blocks: tuple[int, ...] = ()
        self.guard = Guard.NONE
        self.in_annotation = False

    def generic_visit(self, node: ast.AST) -> None:
        """Visit the children in the order of the node's fields. Nearly every node is evaluated in this order."""
        for field_name in node._fields:
            child = getattr(node, field_name, None)
            if isinstance(child, ast.AST):
                self.visit(child)
            elif isinstance(child, list) and child:
                self.visit_block(child) if isinstance(child[0], ast.stmt) else self.visit_all(child)

    def visit_all(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            if isinstance(node, ast.AST):
                self.visit(node)

    def visit_block(self, statements: Sequence[ast.stmt]) -> None:
        outer, self.open_blocks = self.open_blocks, (*self.open_blocks, len(self.result.blocks))
        self.result.blocks.append(statements)
        self.visit_all(statements)
        self.open_blocks = outer

    @contextmanager
    def nested_scope(self, kind: ScopeKind, *, deferred: bool) -> Iterator[NameScope]:
        outer = self.scope, self.loops, self.outer_loops, self.guard
        self.scope = NameScope(kind, self.scope, deferred)
        if deferred:
            self.outer_loops, self.loops, self.guard = (*self.outer_loops, *self.loops), (), Guard.NONE
        yield self.scope
        self.scope, self.loops, self.outer_loops, self.guard = outer

    def next_order(self) -> int:
        self.last_order += 1
        return self.last_order

    # Binding and reading

    def bind(self, name: str, node: ast.AST, value: ast.expr | None = None) -> Binding:
        target, order = self.scope, self.next_order()
        text_order, loops = order, self.loops
        if name in target.globals and target is not self.result.module:
            target, order = self.result.module, ANY_TIME
        elif name in target.nonlocals:
            target, order = self.function_that_binds(name), ANY_TIME
        if order == ANY_TIME:
            loops = (*self.outer_loops, *loops)
        binding = Binding(node, order, loops, value, text_order=text_order)
        target.bindings.setdefault(name, []).append(binding)
        return binding

    def function_that_binds(self, name: str) -> NameScope:
        outer = (scope for scope in self.scope.outward() if scope is not self.scope and name in scope.bindings)
        return next((scope for scope in outer if scope.kind is ScopeKind.FUNCTION), self.scope)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bind(node.id, node)
            return
        use = Use(node, self.scope, self.next_order(), self.loops, self.open_blocks, self.guard, self.in_annotation)
        self.result.uses.append(use)
        self.result.binds_any_name |= node.id in NAMESPACES and node.id not in self.scope.bindings
        if isinstance(node.ctx, ast.Del):
            block = self.open_blocks[-1] if self.open_blocks else NO_BLOCK
            self.scope.deletions.setdefault(node.id, []).append((self.next_order(), block))

    def visit_annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            self.in_annotation = True
            self.visit(node)
            self.in_annotation = False

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        if len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Name):
            self.bind(target.id, target, node.value)
        else:
            self.visit_all(node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit_annotation(node.annotation)
        self.visit_all([node.value, node.target])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.visit_Name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        self.visit_all([node.value, node.target])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self.scope
        while self.scope.kind is ScopeKind.COMPREHENSION and self.scope.parent is not None:
            self.scope = self.scope.parent
        self.visit(node.target)
        self.scope = scope

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.result.binds_any_name = True
            else:
                self.bind(alias.asname or alias.name.partition(".")[0], node)

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_Global(self, node: ast.Global) -> None:
        self.scope.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocals.update(node.names)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.result.accesses.append((node, self.scope))
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.result.calls.append((node, self.scope))
        self.generic_visit(node)

    # Scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.visit_all(node.decorator_list)
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        self.visit_annotation(node.returns)
        self.bind_type_parameters(node)
        self.bind(node.name, node)
        with self.nested_scope(ScopeKind.FUNCTION, deferred=True):
            self.bind_parameters(node.args)
            self.visit_block(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        with self.nested_scope(ScopeKind.FUNCTION, deferred=True):
            self.bind_parameters(node.args)
            self.visit(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all(node.decorator_list)
        self.bind_type_parameters(node)
        self.visit_all(node.bases)
        self.visit_all(keyword.value for keyword in node.keywords)
        with self.nested_scope(ScopeKind.CLASS, deferred=False):
            self.visit_block(node.body)
        self.bind(node.name, node)

    def visit_TypeAlias(self, node: Any) -> None:
        self.bind(node.name.id, node)
        with self.nested_scope(ScopeKind.FUNCTION, deferred=True):
            self.bind_type_parameters(node)
            self.visit(node.value)

    def bind_type_parameters(self, node: ast.AST) -> None:
        for parameter in getattr(node, "type_params", ()):
            self.bind(parameter.name, parameter)

    def bind_parameters(self, arguments: ast.arguments) -> None:
        named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        for parameter in (*named, *filter(None, (arguments.vararg, arguments.kwarg))):
            self.visit_annotation(parameter.annotation)
            self.bind(parameter.arg, parameter)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.visit(node.generators[0].iter)
        with self.nested_scope(ScopeKind.COMPREHENSION, deferred=isinstance(node, ast.GeneratorExp)):
            for number, generator in enumerate(node.generators):
                if number:
                    self.visit(generator.iter)
                self.visit(generator.target)
                self.visit_all(generator.ifs)
            self.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815

    # Statements with blocks

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.visit_loop([node.target], node.body)
        self.visit_block(node.orelse)

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_While(self, node: ast.While) -> None:
        self.visit_loop([node.test], node.body)
        self.visit_block(node.orelse)

    def visit_loop(self, head: list[ast.expr], body: list[ast.stmt]) -> None:
        outer, self.loops = self.loops, (*self.loops, self.next_order())
        self.visit_all(head)
        self.visit_block(body)
        self.loops = outer

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        outer = self.guard
        self.guard = max(outer, Guard.NONE, *map(_guard_of, node.handlers))
        self.visit_block(node.body)
        self.guard = outer
        self.visit_all(node.handlers)
        self.visit_block(node.orelse)
        self.visit_block(node.finalbody)

    visit_TryStar = visit_Try  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.visit_all([node.type])
        binding = self.bind(node.name, node) if node.name else None
        self.visit_block(node.body)
        if binding is not None:
            binding.end_order = self.next_order()

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> None:
        self.generic_visit(node)
        if name := node.rest if isinstance(node, ast.MatchMapping) else node.name:
            self.bind(name, node)

    visit_MatchStar = visit_MatchMapping = visit_MatchAs  # noqa: N815

    def visit_Return(self, node: ast.Return) -> None:
        if self.scope.kind is not ScopeKind.FUNCTION:
            self.result.misplaced.append(node)
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break | ast.Continue) -> None:
        if not self.loops:
            self.result.misplaced.append(node)

    visit_Continue = visit_Break  # noqa: N815


def _guard_of(handler: ast.ExceptHandler) -> Guard:
    exceptions = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {exception.id for exception in exceptions if isinstance(exception, ast.Name)}
    if names & {"NameError", "UnboundLocalError"}:
        return Guard.NAME_ERROR
    return Guard.ANY_ERROR if handler.type is None or names & {"Exception", "BaseException"} else Guard.NONE
