"""Decides whether a top-level statement is safe to run anywhere: it cannot fail, and it acts on nothing."""

import ast
import builtins
import re
from collections.abc import Collection, Iterator

FUNCTION_DECORATORS = frozenset(
    "staticmethod classmethod property cache functools.cache lru_cache functools.lru_cache "
    "lru_cache(maxsize=None) functools.lru_cache(maxsize=None)".split()
)
CLASS_DECORATORS = frozenset(
    "dataclass dataclasses.dataclass dataclass(frozen=True) dataclasses.dataclass(frozen=True)".split()
)
ORIGIN = {
    "cache": "from functools import cache",
    "lru_cache": "from functools import lru_cache",
    "functools": "import functools",
    "dataclass": "from dataclasses import dataclass",
    "dataclasses": "import dataclasses",
    "re": "import re",
}
"""The import that gives a name its usual meaning."""
BASES = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, ExceptionGroup)
    if not name.startswith("_")
) | {"object"}
_FLAGS = frozenset("A ASCII DOTALL I IGNORECASE M MULTILINE NOFLAG S U UNICODE VERBOSE X".split())


def objections(statement: ast.stmt, imports: Collection[str], classes: Collection[str]) -> Iterator[str]:
    """Return why a statement is not safe to run anywhere; empty if it is.

    ``imports`` are the import statements of the same code, ``classes`` the classes that it defines without a decorator.
    It must not redefine a builtin.
    """
    match statement:
        case ast.Import() | ast.ImportFrom():
            return
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            if not is_literal(value) and not _is_pattern(value, imports):
                yield f"{name} is worked out by code; only plain values can be taken along"
        case ast.FunctionDef():
            yield from _of_function(statement, imports)
        case ast.ClassDef():
            yield from _of_class(statement, imports, classes)
        case _:
            yield f"line {statement.lineno} of it does more than define something"


def is_literal(value: ast.expr) -> bool:
    """Return whether an expression is a plain value, such as a number or a list of texts."""
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _of_function(node: ast.FunctionDef, imports: Collection[str]) -> Iterator[str]:
    yield from _of_decorators(node, FUNCTION_DECORATORS, imports)
    for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
        if not is_literal(default) and not isinstance(default, ast.Name):
            yield f"a default of {node.name} is worked out by code: {ast.unparse(default)}"


def _of_class(node: ast.ClassDef, imports: Collection[str], classes: Collection[str]) -> Iterator[str]:
    yield from _of_decorators(node, CLASS_DECORATORS, imports)
    bases = [ast.unparse(base) for base in node.bases]
    if len(bases) > 1 or node.keywords or not {*classes, *BASES}.issuperset(bases) or (bases and node.decorator_list):
        yield f"the class {node.name} derives from more than one plain class or exception"
    filled, own = False, {name for name in map(_bound, node.body) if name}
    if meant := own & set(map(_root, FUNCTION_DECORATORS)):
        yield f"the class {node.name} gives another meaning to {', '.join(sorted(meant))}"
    for statement in node.body:
        match statement:
            case ast.FunctionDef():
                yield from _of_function(statement, imports)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_field(name, value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=None) if not name.startswith("__") and not filled:
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if _is_field(name, value):
                filled = True
            case _:
                yield f"the class {node.name} does more than define methods and plain fields"


def _of_decorators(
    node: ast.FunctionDef | ast.ClassDef, harmless: frozenset[str], imports: Collection[str]
) -> Iterator[str]:
    for number, decorator in enumerate(map(ast.unparse, node.decorator_list)):
        if number or decorator not in harmless or not _means(_root(decorator), imports):
            yield f"the decorator @{decorator} of {node.name} is run when it is defined"


def _root(decorator: str) -> str:
    return re.split(r"[.(]", decorator)[0]


def _bound(statement: ast.stmt) -> str | None:
    """Return the name that a statement of a class body binds."""
    match statement:
        case (
            ast.FunctionDef(name=name)
            | ast.Assign(targets=[ast.Name(id=name)])
            | ast.AnnAssign(target=ast.Name(id=name))
        ):
            return name
    return None


def _means(name: str, imports: Collection[str]) -> bool:
    """Return whether a name has its usual meaning."""
    return name not in ORIGIN or ORIGIN[name] in imports


def _is_field(name: str, value: ast.expr) -> bool:
    return not name.startswith("__") and is_literal(value) and not isinstance(value, ast.List | ast.Dict | ast.Set)


def _is_pattern(value: ast.expr, imports: Collection[str]) -> bool:
    """Return whether an expression is ``re.compile`` of a plain pattern that compiles."""
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="re"), attr="compile"),
            args=[ast.Constant(value=str(pattern)), *flags],
            keywords=[],
        ) if len(flags) < 2 and all(map(_are_flags, flags)) and _means("re", imports):
            try:
                re.compile(pattern, _value_of(flags))
            except (re.error, ValueError, OverflowError, RecursionError):
                return False
            return True
    return False


def _are_flags(value: ast.expr) -> bool:
    match value:
        case ast.Attribute(value=ast.Name(id="re"), attr=name):
            return name in _FLAGS
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _are_flags(left) and _are_flags(right)
    return False


def _value_of(flags: list[ast.expr]) -> int:
    """Return the value of flags such as ``re.I | re.M``."""
    found = 0
    for flag in flags:
        for node in ast.walk(flag):
            if isinstance(node, ast.Attribute):
                found |= re.RegexFlag[node.attr]
    return found
