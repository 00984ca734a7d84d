"""Which name is bound where: what the walk over a tree (``walker``) finds out, and how a name is looked up in it.

``order`` is a clock over the whole walk. What a nested function does happens later than its text stands: its uses are
*deferred*, and what it binds outside itself (global, nonlocal) has the order ANY_TIME.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property

ANY_TIME = -1


class ScopeKind(Enum):
    """What opens a scope."""

    MODULE = auto()
    FUNCTION = auto()
    CLASS = auto()
    COMPREHENSION = auto()


class Guard(Enum):
    """Whether a try around the use expects that the name may be missing."""

    NONE = 0
    ANY_ERROR = 1
    NAME_ERROR = 2


@dataclass(slots=True)
class Binding:
    """One place that gives a name a value. ``value`` is the expression of a plain ``name = value``."""

    node: ast.AST
    order: int
    loops: tuple[int, ...] = ()
    value: ast.expr | None = None
    last: int | None = None
    """For ``except ... as name``: the order at which the handler ends and the name with it."""
    since: int = 0
    """Of order ANY_TIME: where in the order it stands, before which nothing can have carried it out but a loop."""


@dataclass(slots=True)
class Scope:
    """A namespace of the code: its bindings and deletions, by name."""

    kind: ScopeKind
    parent: "Scope | None" = None
    deferred: bool = False
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    deletions: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Order and innermost block of each ``del name``."""
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Use:
    """One place that reads a name."""

    node: ast.Name
    scope: Scope
    order: int
    loops: tuple[int, ...]
    blocks: tuple[int, ...]
    guard: Guard
    annotation: bool


@dataclass
class Scopes:
    """What the walk found."""

    module: Scope
    uses: list[Use] = field(default_factory=list)
    accesses: list[tuple[ast.Attribute, Scope]] = field(default_factory=list)
    calls: list[tuple[ast.Call, Scope]] = field(default_factory=list)
    blocks: list[Sequence[ast.stmt]] = field(default_factory=list)
    strays: list[ast.stmt] = field(default_factory=list)
    """return outside of a function, break and continue outside of a loop."""
    star_import: bool = False

    def find(self, name: str, scope: Scope) -> tuple[Scope | None, bool]:
        """The scope that binds the name as seen from ``scope``, and whether the sight is deferred."""
        here: Scope | None = scope
        deferred = False
        while here is not None:
            if name in here.globals:
                return (self.module if name in self.module.bindings else None), True
            if name in here.bindings and (here is scope or here.kind is not ScopeKind.CLASS):
                return here, deferred
            deferred = deferred or here.deferred
            here = here.parent
        return None, deferred

    @cached_property
    def inside(self) -> frozenset[str]:
        """Names that are bound inside of a function, a class or a comprehension that reads any."""
        scopes = {id(use.scope): use.scope for use in self.uses if use.scope.parent}
        return frozenset(name for scope in scopes.values() for name in scope.bindings)

    def free_names(self) -> set[str]:
        """Names that the code reads, annotations included, and nowhere binds."""
        return {use.node.id for use in self.uses if self.find(use.node.id, use.scope)[0] is None}
