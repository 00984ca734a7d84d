"""Effects of code that is not followed: the names that it binds, whether it acts, and what it may change."""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

_EXITS = (ast.Break, ast.Return, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom)
_NAMED_NODES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that the code may bind, or declares global or nonlocal."""
    return {name for node in _all(nodes) for name in _bound_by(node)}


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


def names_defined_once(trees: Iterable[ast.AST]) -> set[str]:
    """Return the names that one ``def`` binds and nothing else does, in any scope."""
    nodes = list(_all(trees))
    counts = Counter(name for node in nodes for name in _bound_by(node))
    counts.update(node.arg for node in nodes if isinstance(node, ast.arg))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and counts[node.name] == 1}


def declared_names(nodes: Iterable[ast.AST], kinds: tuple[type[ast.Global] | type[ast.Nonlocal], ...]) -> set[str]:
    """Return the names in ``global`` or ``nonlocal`` statements."""
    return {name for node in _all(nodes) if isinstance(node, kinds) for name in node.names}


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of all parameters."""
    args = node.args
    return [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg]


def own_declared_names(node: ast.FunctionDef | ast.Lambda, kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """Return the names that a function itself declares, without those of inner functions."""
    return {name for inner in own_nodes(node) if isinstance(inner, kind) for name in inner.names}


def is_generator(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Return whether calling the function only creates a generator."""
    return any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in own_nodes(node))


def own_nodes(node: ast.FunctionDef | ast.Lambda) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of inner functions and classes."""
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        inner = waiting.pop()
        yield inner
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(inner))


def acting_names(trees: Iterable[ast.AST], roots: Collection[str]) -> frozenset[str]:
    """Return the names whose use may act or change a container.

    These are the session's names, names bound to what those hold, and functions and classes that use any of them or
    change what they did not create. Values passed to parameters are not followed.
    """
    nodes = list(_all(trees))
    acting = set(roots)
    while more := {name for node in nodes for name in _names_made_acting(node, acting)} - acting:
        acting |= more
    return frozenset(acting)


def _names_made_acting(node: ast.AST, acting: Collection[str]) -> Collection[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return () if is_harmless(node, acting) else (node.name,)
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For)):
        value = node.iter if isinstance(node, ast.For) else node.value
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return bound_names(targets) if value is not None and _may_hand_on(value, acting) else ()
    return ()


def _may_hand_on(value: ast.expr, acting: Collection[str]) -> bool:
    """Return whether the value of an expression may act: that of ``agent.go_to(x)`` is only an observation."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Name):
        return any(_may_hand_on(part, acting) for part in (*value.args, *(pair.value for pair in value.keywords)))
    if isinstance(value, (ast.Name, ast.Attribute)):
        return mentions(value, acting)
    return any(_may_hand_on(part, acting) for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)) or (
        isinstance(value, ast.Lambda) and not is_harmless(value, acting)
    )


def mentions(node: ast.AST, names: Collection[str]) -> bool:
    """Return whether the code reads one of the names anywhere."""
    return any(isinstance(inner, ast.Name) and inner.id in names for inner in ast.walk(node))


def is_endless(node: ast.While, acting: Collection[str]) -> bool:
    """Return whether only an error can end a loop: it has no exit, and no action in it could end the episode."""
    if not (isinstance(node.test, ast.Constant) and node.test.value):
        return False
    return not mentions(node, acting) and not any(isinstance(inner, _EXITS) for inner in ast.walk(node))


def is_harmless(node: ast.AST, acting: Collection[str]) -> bool:
    """Return whether code neither acts nor changes anything that it did not create.

    Every method with the name of one that changes lists, dicts or sets counts as a change.
    """
    if mentions(node, acting):
        return False
    created = _created_names(node)
    return not any(_changes(inner, created) for inner in ast.walk(node))


def _changes(node: ast.AST, created: Collection[str]) -> bool:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, ast.AugAssign):
        return not (isinstance(node.target, ast.Name) and node.target.id in created)
    if isinstance(node, ast.Subscript):
        changed = not isinstance(node.ctx, ast.Load)
    else:
        changed = isinstance(node, ast.Attribute) and node.attr in CHANGING
    base = getattr(node, "value", None)
    return changed and not (isinstance(base, ast.Name) and base.id in created)


def _created_names(node: ast.AST) -> set[str]:
    """Return the names that hold only values created by the function: a new list, a number, a string."""
    if not isinstance(node, ast.FunctionDef):
        return set()
    bindings: Counter[str] = Counter()
    fresh: Counter[str] = Counter()
    for inner in ast.walk(node):
        bindings.update([inner.arg] if isinstance(inner, ast.arg) else _bound_by(inner))
        if isinstance(inner, ast.Assign) and isinstance(inner.value, _FRESH) and isinstance(inner.targets[0], ast.Name):
            fresh.update([inner.targets[0].id])
        elif isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
            fresh.update([inner.target.id])
    return {name for name, count in bindings.items() if fresh[name] == count}


_FRESH = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.Constant, ast.JoinedStr)


CHANGING = frozenset(
    "add append appendleft clear difference_update discard extend extendleft insert intersection_update pop popitem "
    "popleft remove reverse rotate setdefault sort symmetric_difference_update update subtract move_to_end".split()
)


def _all(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return (inner for node in nodes for inner in ast.walk(node))


# Call sites.

_METHODS = frozenset(name for kind in (str, list, dict, set, tuple) for name in dir(kind))


def call_sites(
    tree: ast.AST, functions: Collection[str], acting: Collection[str], handed_on: Collection[str]
) -> Iterator[int]:
    """Yield the ids of nodes that call one of the session's functions, or pass it on to be called by others.

    ``acting`` has the names that may act, ``handed_on`` the functions that something unknown holds. Calls to methods
    with the name of a session's function count, too (``self.agent.open``). If Python's types or the plan define a
    method of that name, they count only on values named in ``acting``.
    """
    names = {name.rpartition(".")[2] for name in functions}
    ambiguous = _METHODS | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            is_site = _may_act(node, functions, names - ambiguous, names, acting)
        else:
            is_site = isinstance(node, ast.Attribute) and id(node) not in called and ast.unparse(node) in handed_on
        if is_site:
            yield id(node)


def _may_act(
    node: ast.Call, functions: Collection[str], unique: Collection[str], names: Collection[str], acting: Collection[str]
) -> bool:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in unique or (node.func.attr in names and mentions(node.func.value, acting))
    if not isinstance(node.func, ast.Name):
        return False
    by_name = node.func.id == "getattr" and bool(node.args) and mentions(node.args[0], acting)
    return by_name or node.func.id in functions
