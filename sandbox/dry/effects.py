"""Effects of code that is not followed: names that it binds, whether it acts, what calling it may change."""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

_WAYS_OUT = (ast.Break, ast.Return, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom)
_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that the code may bind, or declares as another frame's."""
    return {name for node in _all(nodes) for name in _bound_by(node)}


def _bound_by(node: ast.AST) -> list[str]:
    """Return the names that this very node binds or declares."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return node.names
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    name = node.rest if isinstance(node, ast.MatchMapping) else node.name if isinstance(node, _NAMED) else None
    return [name] if name else []


def defined_once(trees: Iterable[ast.AST]) -> set[str]:
    """Return the names that one def binds, and nothing else anywhere: no other scope, and no parameter."""
    nodes = list(_all(trees))
    given = Counter(name for node in nodes for name in _bound_by(node))
    given.update(node.arg for node in nodes if isinstance(node, ast.arg))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and given[node.name] == 1}


def declared(nodes: Iterable[ast.AST], kinds: tuple[type[ast.Global] | type[ast.Nonlocal], ...]) -> set[str]:
    """Return the names in ``global`` or ``nonlocal`` statements."""
    return {name for node in _all(nodes) if isinstance(node, kinds) for name in node.names}


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return all names that a call binds."""
    a = node.args
    return [each.arg for each in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if each]


def own_declared(node: ast.FunctionDef | ast.Lambda, kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """Return the names that a function itself declares, without those of inner functions."""
    return {name for each in own_nodes(node) if isinstance(each, kind) for name in each.names}


def is_generator(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Return whether a call only makes a generator."""
    return any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in own_nodes(node))


def own_nodes(node: ast.FunctionDef | ast.Lambda) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of inner functions and classes."""
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        each = waiting.pop()
        yield each
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(each))


def acting_names(trees: Iterable[ast.AST], roots: Collection[str]) -> frozenset[str]:
    """Return the names whose use may act or change a list: those of the session, and every name bound to one of them.

    Functions that use such a name count, too. What is passed to parameters is not followed.
    """
    nodes = list(_all(trees))
    acting = set(roots)
    while found := {name for node in nodes for name in _made_acting(node, acting)} - acting:
        acting |= found
    return frozenset(acting)


def _made_acting(node: ast.AST, acting: Collection[str]) -> Collection[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return () if is_harmless(node, acting) else (node.name,)
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For)):
        value = node.iter if isinstance(node, ast.For) else node.value
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return bound(targets) if value is not None and _hands_on(value, acting) else ()
    return ()


def _hands_on(value: ast.expr, acting: Collection[str]) -> bool:
    """Return whether the value of an expression may act: that of ``agent.go_to(x)`` is only an observation."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Name):
        return any(_hands_on(each, acting) for each in (*value.args, *(pair.value for pair in value.keywords)))
    if isinstance(value, (ast.Name, ast.Attribute)):
        return mentions(value, acting)
    return any(_hands_on(each, acting) for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr)) or (
        isinstance(value, ast.Lambda) and not is_harmless(value, acting)
    )


def mentions(node: ast.AST, names: Collection[str]) -> bool:
    """Return whether the code reads one of the names anywhere."""
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def is_endless(node: ast.While, acting: Collection[str]) -> bool:
    """Return whether only an error ends a loop: it has no exit, and takes no action that could end the episode."""
    if not (isinstance(node.test, ast.Constant) and node.test.value):
        return False
    return not mentions(node, acting) and not any(isinstance(each, _WAYS_OUT) for each in ast.walk(node))


def is_harmless(node: ast.AST, acting: Collection[str]) -> bool:
    """Return whether code neither acts nor changes anything that it did not make itself.

    A method named like one that changes lists or dicts counts as a change, whatever its object is.
    """
    if mentions(node, acting):
        return False
    own = _made_inside(node)
    return not any(_changes(each, own) for each in ast.walk(node))


def _changes(node: ast.AST, own: Collection[str]) -> bool:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, ast.AugAssign):
        return not (isinstance(node.target, ast.Name) and node.target.id in own)
    if isinstance(node, ast.Subscript):
        changed = not isinstance(node.ctx, ast.Load)
    else:
        changed = isinstance(node, ast.Attribute) and node.attr in CHANGING
    base = getattr(node, "value", None)
    return changed and not (isinstance(base, ast.Name) and base.id in own)


def _made_inside(node: ast.AST) -> set[str]:
    """Return a function's names that only stand for what it made itself: a new list, a number, a string."""
    if not isinstance(node, ast.FunctionDef):
        return set()
    given: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for each in ast.walk(node):
        given.update([each.arg] if isinstance(each, ast.arg) else _bound_by(each))
        if isinstance(each, ast.Assign) and isinstance(each.value, _NEW) and isinstance(each.targets[0], ast.Name):
            made.update([each.targets[0].id])
        elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            made.update([each.target.id])
    return {name for name, count in given.items() if made[name] == count}


_NEW = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.Constant, ast.JoinedStr)


CHANGING = frozenset(
    "add append appendleft clear difference_update discard extend extendleft insert intersection_update pop popitem "
    "popleft remove reverse rotate setdefault sort symmetric_difference_update update subtract move_to_end".split()
)


def _all(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return (each for node in nodes for each in ast.walk(node))


# Call sites.

_METHODS = frozenset(name for kind in (str, list, dict, set, tuple) for name in dir(kind))


def sites(
    tree: ast.AST, functions: Collection[str], acting: Collection[str], handed_on: Collection[str]
) -> Iterator[int]:
    """Yield the ids of nodes that call one of the session's functions, or pass it on to be called by others.

    ``acting`` are the names that stand for the session's objects, ``handed_on`` the functions that something unknown
    has. A call of a method of that name counts, too (``self.agent.open``), unless Python's own types or classes of the
    plan have such a method.
    """
    names = {name.rpartition(".")[2] for name in functions}
    doubtful = _METHODS | {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found = _may_act(node, functions, names - doubtful, names, acting)
        else:
            found = isinstance(node, ast.Attribute) and id(node) not in called and ast.unparse(node) in handed_on
        if found:
            yield id(node)


def _may_act(
    node: ast.Call, functions: Collection[str], clear: Collection[str], names: Collection[str], acting: Collection[str]
) -> bool:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in clear or (node.func.attr in names and mentions(node.func.value, acting))
    if not isinstance(node.func, ast.Name):
        return False
    by_name = node.func.id == "getattr" and bool(node.args) and mentions(node.args[0], acting)
    return by_name or node.func.id in functions
