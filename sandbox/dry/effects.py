"""Facts about code that need no dry run: the names that it binds and reads, and its calls that may act.

``roots`` are the names through which plan code reaches the session, such as ``agent``. Code *acts* if it calls one of
the session's functions. Parameters named ``nodes`` expect all nodes of the code, including inner ones. Only
``bound_names`` finds the inner nodes itself.
"""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass

from planbook.sandbox.reading.growing import does_nothing
from planbook.sandbox.reading.scopes import NAMESPACES

_NAMED_NODES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that the code may bind or declares as global or nonlocal, and ``*`` for a star import."""
    return {name for node in nodes for inner in ast.walk(node) for name in _bound_by(inner)}


def _bound_by(node: ast.AST) -> list[str]:
    """Return the names that this node itself binds or declares."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return node.names
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    name = node.rest if isinstance(node, ast.MatchMapping) else node.name if isinstance(node, _NAMED_NODES) else None
    return [name] if name else []


def names_in(node: ast.AST) -> set[str]:
    """Return every name that the code reads, binds or deletes."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def rebound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names whose values may change while other code runs.

    Functions and generators may bind these names outside themselves, or ``finally`` blocks bind them.
    """
    names = set[str]()
    for node in nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            names |= {*node.names}
        elif isinstance(node, ast.Try):
            names |= bound_names(node.finalbody)
        elif isinstance(node, ast.GeneratorExp):
            names |= {inner.target.id for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)}
    return names


def is_constant(node: ast.stmt) -> bool:
    """Return whether a statement only defines objects that never change: a constant, a function or a module."""
    if isinstance(node, ast.FunctionDef):
        defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
        return all(isinstance(default, ast.Constant) for default in defaults)
    return isinstance(node, ast.Import | ast.ImportFrom) or isinstance(getattr(node, "value", None), ast.Constant)


def sets_attributes(tree: ast.AST) -> bool:
    """Return whether the code sets or deletes an attribute."""
    return any(isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) for node in ast.walk(tree))


def parameter_names(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of all parameters."""
    args = node.args
    return [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg]


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """Facts about a function, class or generator expression.

    ``names`` are the names that the code reads, binds or deletes. ``rebinds_outer_names`` is True if the code may bind
    names outside itself. ``is_simple`` is True if a dry run can follow a call to the function: it is not a generator,
    and declares no name as global or nonlocal.
    """

    names: set[str]
    rebinds_outer_names: bool
    has_inner_function: bool
    is_simple: bool

    @classmethod
    def of(cls, node: ast.AST) -> "CodeFacts":
        """Find the facts about a function, class or generator expression."""
        parts, not_simple = [*ast.walk(node)], ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal
        has_inner = any(isinstance(part, ast.FunctionDef | ast.Lambda) for part in parts[1:])
        is_simple = not any(isinstance(part, not_simple) for part in parts)
        return cls(names_in(node), bool(rebound_names(parts)), has_inner, is_simple)


def acting_names(nodes: Iterable[ast.AST], roots: Collection[str]) -> frozenset[str]:
    """Return ``roots``, and the names of all functions that may act.

    A function may act if it uses a name in ``roots`` or the name of another function that may act.
    """
    functions_around: dict[ast.AST, ast.FunctionDef | None] = {}
    users = defaultdict[str, list[ast.FunctionDef | None]](list)
    for node in nodes:  # outer nodes come first
        function = node if isinstance(node, ast.FunctionDef) else functions_around.get(node)
        functions_around.update(dict.fromkeys(ast.iter_child_nodes(node), function))
        if isinstance(node, ast.Name):
            users[node.id].append(function)
    acting, pending = set[ast.FunctionDef](), list(roots)
    while pending:
        for function in users.pop(pending.pop(), ()):
            while function is not None and function not in acting:
                acting.add(function)
                pending.append(function.name)
                function = functions_around.get(function)
    return frozenset((*roots, *(function.name for function in acting)))


def binds_unmentioned_names(nodes: Iterable[ast.AST]) -> bool:
    """Return whether the code may bind names that it does not mention, as a star import or ``globals()`` can."""
    return any(
        (isinstance(node, ast.alias) and node.name == "*") or (isinstance(node, ast.Name) and node.id in NAMESPACES)
        for node in nodes
    )


def leaves_acting_values(nodes: Collection[ast.AST], roots: Collection[str], acting: Collection[str]) -> bool:
    """Return whether the code may leave values that act when they are called, read or iterated over.

    ``acting`` is the result of ``acting_names``. The result is False only if the code defines no function, class or
    generator, and uses the names in ``acting`` only to call the session's functions, which return data. Other functions
    that act might return functions or generators.
    """
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    bases = {function.value if isinstance(function, ast.Attribute) else function for function in called}
    return any(
        isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp)
        or (isinstance(node, ast.Name) and node.id in acting and not (node.id in roots and node in bases))
        for node in nodes
    )


_METHODS = frozenset(name for kind in (str, list, dict, set, tuple) for name in dir(kind))


def call_sites(
    nodes: Collection[ast.AST], functions: Collection[str], roots: Set[str], escaped: Collection[str]
) -> Iterator[ast.AST]:
    """Yield the nodes that call one of the session's functions, or pass it to code that may call it.

    ``escaped`` are the dotted names of the functions that unknown code may call. A call to a method with the name of
    one of the session's functions counts: for example ``self.agent.open()``, if ``agent.open`` is such a function. But
    if a method of Python's types, or a function of the plan, has the same name, the call counts only if the expression
    before the method's name uses a name in ``roots``.
    """
    names = {name.rpartition(".")[2] for name in functions}
    unique = names - _METHODS - {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            attribute = node.func.attr
            is_site = attribute in unique or (attribute in names and bool(names_in(node.func.value) & roots))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            by_name = node.func.id == "getattr" and bool(node.args and names_in(node.args[0]) & roots)
            is_site = by_name or node.func.id in functions
        else:
            is_site = isinstance(node, ast.Attribute) and node not in called and _dotted_name(node) in escaped
        if is_site:
            yield node


def _dotted_name(node: ast.expr) -> str:
    """Return a name, or a dotted name with at most four parts, as text. Return "" for any other expression."""
    parts = list[str]()
    while isinstance(node, ast.Attribute) and len(parts) < 3:
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([node.id, *parts]) if isinstance(node, ast.Name) else ""


def has_jump(node: ast.stmt) -> bool:
    """Return whether a statement contains a ``return``, ``break`` or ``continue``."""
    return any(isinstance(inner, ast.Return | ast.Break | ast.Continue) for inner in ast.walk(node))


def is_computed(annotation: ast.expr) -> bool:
    """Return whether an annotation calls something or binds a name."""
    return any(isinstance(inner, ast.Call | ast.NamedExpr) for inner in ast.walk(annotation))


def is_plain_field(node: ast.stmt) -> bool:
    """Return whether a statement of a class body defines no code that may run later.

    Such a statement is a field without a computed default or annotation, a docstring, or ``pass``.
    """
    if isinstance(node, ast.AnnAssign):
        is_name = isinstance(node.target, ast.Name) and not is_computed(node.annotation)
        return is_name and isinstance(node.value, ast.Constant | None)
    return does_nothing(node)
