"""Facts about code that need no dry run: the names that it binds and reads, and its calls that may act.

``roots`` are the names through which plan code reaches the session, such as ``agent``. Code *acts* if it calls one of
the session's functions.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Set

_NAMED_NODES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that the code may bind, or that it declares as global or nonlocal. A star import adds ``*``."""
    return {name for node in _walk_all(nodes) for name in _bound_by(node)}


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
    """Return the names that functions and generators may bind outside themselves, or that ``finally`` blocks bind."""
    names = set[str]()
    for node in _walk_all(nodes):
        if isinstance(node, ast.Global | ast.Nonlocal):
            names |= {*node.names}
        elif isinstance(node, ast.Try):
            names |= bound_names(node.finalbody)
        elif isinstance(node, ast.GeneratorExp):
            names |= {inner.target.id for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)}
    return names


def is_constant(node: ast.stmt) -> bool:
    """Return whether a statement only defines constants, modules or a function: nothing that may change later."""
    if isinstance(node, ast.FunctionDef):
        defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
        return all(isinstance(default, ast.Constant) for default in defaults)
    return isinstance(node, ast.Import | ast.ImportFrom) or isinstance(getattr(node, "value", None), ast.Constant)


def sets_attributes(tree: ast.AST) -> bool:
    """Return whether the code sets or deletes an attribute."""
    return any(isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) for node in ast.walk(tree))


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of all parameters."""
    args = node.args
    return [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg]


def is_simple(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Return whether a dry run can follow calls of a function.

    The function must not be a generator, bind names outside itself, or have positional-only parameters.
    """
    refused = ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal
    return not node.args.posonlyargs and not any(isinstance(inner, refused) for inner in ast.walk(node))


def acting_names(trees: Iterable[ast.AST], roots: Collection[str]) -> frozenset[str]:
    """Return ``roots``, and the names of all functions that may act because they use one of these names."""
    functions = [node for node in _walk_all(trees) if isinstance(node, ast.FunctionDef)]
    acting = set(roots)
    while added := {node.name for node in functions if node.name not in acting and acting & names_in(node)}:
        acting |= added
    return frozenset(acting)


def binds_unmentioned_names(trees: Iterable[ast.AST]) -> bool:
    """Return whether the code may bind names that it does not mention, as a star import or ``globals()`` can."""
    return any(
        (isinstance(node, ast.alias) and node.name == "*")
        or (isinstance(node, ast.Name) and node.id in ("globals", "locals", "vars"))
        for node in _walk_all(trees)
    )


def keeps_functions(trees: Iterable[ast.AST], roots: Collection[str], acting: Collection[str]) -> bool:
    """Return whether the code may leave values behind that act when they are called, read or iterated over.

    Code leaves only data behind if it defines no function, and uses the session only to call its functions. Other
    functions that act may return functions and generators. ``acting`` has the names from ``acting_names``.
    """
    nodes = list(_walk_all(trees))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    bases = {id(function.value if isinstance(function, ast.Attribute) else function) for function in called}
    return any(
        isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp)
        or (isinstance(node, ast.Name) and node.id in acting and not (node.id in roots and id(node) in bases))
        for node in nodes
    )


def _walk_all(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return (inner for node in nodes for inner in ast.walk(node))


# Call sites.

_METHODS = frozenset(name for kind in (str, list, dict, set, tuple) for name in dir(kind))


def call_sites(tree: ast.AST, functions: Collection[str], roots: Set[str], escaped: Collection[str]) -> Iterator[int]:
    """Yield the ids of the nodes that call one of the session's functions, or pass it to code that may call it.

    ``escaped`` has the dotted names of the functions that code outside the dry run may hold. A call of any method that
    is named like a function of the session counts, such as ``self.agent.open()``. But if Python's types or the plan
    define a method of that name, too, the call counts only if the expression before the dot uses a name in ``roots``.
    """
    names = {name.rpartition(".")[2] for name in functions}
    unique = names - _METHODS - {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            attribute = node.func.attr
            is_site = attribute in unique or (attribute in names and bool(names_in(node.func.value) & roots))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            by_name = node.func.id == "getattr" and bool(node.args and names_in(node.args[0]) & roots)
            is_site = by_name or node.func.id in functions
        else:
            is_site = isinstance(node, ast.Attribute) and id(node) not in called and ast.unparse(node) in escaped
        if is_site:
            yield id(node)
