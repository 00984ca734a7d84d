"""Effects of code that is not followed: names that it binds, whether it acts, what calling it may change."""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

_WAYS_OUT = (ast.Break, ast.Return, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom)
_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that the code may bind, or declares as another frame's."""
    return {name for node in nodes for each in ast.walk(node) for name in _bound_by(each)}


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


def changed_elsewhere(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return names that are not bound where they stand: declared global or nonlocal, by :=, in a ``finally``."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
        elif isinstance(node, ast.NamedExpr):
            found.add(node.target.id)
        elif isinstance(node, ast.Try | ast.TryStar):
            found |= bound(node.finalbody)
    return frozenset(found)


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return all names that a call binds."""
    a = node.args
    return [each.arg for each in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if each]


def own_nodes(node: ast.FunctionDef | ast.Lambda) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of inner functions and classes."""
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        each = waiting.pop()
        yield each
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(each))


def acting_names(trees: Iterable[ast.AST], roots: Collection[str]) -> frozenset[str]:
    """Return the names whose use may act or change a list: those of the session, and every name bound to one of them.

    Functions that use such a name count, too. What is passed to parameters is not followed.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    acting = set(roots)
    while found := {name for node in nodes for name in _made_acting(node, acting)} - acting:
        acting |= found
    return frozenset(acting)


def _made_acting(node: ast.AST, acting: Collection[str]) -> Collection[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return () if is_harmless(node, acting) else (node.name,)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.AugAssign | ast.For):
        value = node.iter if isinstance(node, ast.For) else node.value
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return bound(targets) if value is not None and _hands_on(value, acting) else ()
    return ()


def _hands_on(value: ast.expr, acting: Collection[str]) -> bool:
    """Return whether the value of an expression may act: that of ``agent.go_to(x)`` is only an observation."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Name):
        return any(_hands_on(each, acting) for each in (*value.args, *(pair.value for pair in value.keywords)))
    if isinstance(value, ast.Name | ast.Attribute):
        return mentions(value, acting)
    if isinstance(value, ast.Lambda):
        return not is_harmless(value, acting)
    return any(_hands_on(each, acting) for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr))


def mentions(node: ast.AST, names: Collection[str]) -> bool:
    """Return whether the code reads one of the names anywhere."""
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def is_endless(node: ast.While, acting: Collection[str]) -> bool:
    """Return whether only an error ends a loop: it has no exit, and takes no action that could end the episode."""
    if not (isinstance(node.test, ast.Constant) and node.test.value):
        return False
    return not mentions(node, acting) and not any(isinstance(each, _WAYS_OUT) for each in ast.walk(node))


def is_harmless(node: ast.AST, acting: Collection[str]) -> bool:
    """Return whether code neither acts nor changes a list or an object that it did not make itself.

    A method named like one that changes lists or dicts counts as a change, whatever its object is.
    """
    if mentions(node, acting):
        return False
    own = _made_inside(node)
    return not any(_changes(each, own) for each in ast.walk(node))


def _changes(node: ast.AST, own: Collection[str]) -> bool:
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


# Call sites.

_MOST_PARTS = 3
"""Parts of the longest name of a function of a session."""


def sites(tree: ast.AST, functions: Collection[str], handed_on: Collection[str]) -> Iterator[int]:
    """Yield the ids of nodes that call one of the session's functions, or pass it on to be called by others.

    ``self.agent.open`` counts as well, and ``getattr(agent, ...)``; ``handed_on`` are those that something unknown has.
    """
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    owners, passed = {name.rpartition(".")[0] for name in functions}, {*functions} & {*handed_on}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found = _names(node.func, functions)
            by_name = isinstance(node.func, ast.Name) and node.func.id == "getattr" and bool(node.args)
            found = found or (by_name and _names(node.args[0], owners))
        else:
            found = isinstance(node, ast.Attribute) and id(node) not in called and _names(node, passed)
        if found:
            yield id(node)


def _names(node: ast.expr, paths: Collection[str]) -> bool:
    """Return whether a dotted name is, or ends with, one of these."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _MOST_PARTS:
        parts.insert(0, node.attr)
        node = node.value
    parts.insert(0, node.id if isinstance(node, ast.Name) else "")
    return any(".".join(parts[start:]) in paths for start in range(len(parts)))
