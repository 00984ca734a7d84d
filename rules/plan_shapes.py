"""Shapes of plans. Two plans have the same shape if they differ only in constants, names of variables and messages."""

import ast
import builtins
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planbook.planner import AGENT
from planbook.sandbox import parse_source

_FUNCTIONS = frozenset(dir(builtins)) - {"next", "setattr", "delattr"}
_METHODS = frozenset({*dir(str), "get", "items", "keys", "values"})
"""Names of functions and methods without effects, which a message may call (see ``plan_shape``)."""
_CALLERS = {"map", "filter", "iter"}
"""Functions that call their first argument. Other functions, such as ``sorted``, call the argument ``key``."""
ReplaceConstant = Callable[[int, ast.expr, str], ast.expr]
"""A function that returns the replacement for a constant, given its position, its node and its name in the code."""


@dataclass(frozen=True)
class PlanShape:
    """The shape of a plan, and the constants that were removed from it.

    ``constants`` lists the literals as Python source, mostly in the order of the code. (There are exceptions: in
    ``a[1] = 2`` the 2 comes first, and in ``a if b else c`` the constants of ``b``.) ``constant_names`` names each
    constant: the variable that it is assigned to, or the parameter that it is passed as, or "".
    """

    shape: str
    """Digest of the normalised code."""
    constants: tuple[str, ...]
    constant_names: tuple[str, ...]


def plan_shape(code: str) -> PlanShape:
    """Return the shape of a plan. Raises SyntaxError if it cannot be parsed.

    Messages (docstrings, arguments of ``print``, messages of assertions, and raised exceptions) are not part of the
    shape. But a message stays if evaluating it may have an effect: if it binds a name, or calls ``agent`` or a function
    that is not known to be free of effects.
    """
    constants, constant_names = list[str](), list[str]()

    def record(position: int, node: ast.expr, name: str) -> ast.expr:
        constants.append(ast.unparse(node))
        constant_names.append(name)
        return ast.Name("_", ast.Load())

    tree = parse_source(code)
    names = _names_bound_in(tree)
    _ConstantReplacer(tree, record, names, keep_messages=False).visit(tree)
    normalised = ast.dump(_NameNumberer(names).visit(tree))
    return PlanShape(hashlib.sha256(normalised.encode()).hexdigest()[:16], tuple(constants), tuple(constant_names))


def with_expressions(code: str, expressions: Mapping[int, ast.expr]) -> str:
    """Return the plan with some constants replaced, and without comments.

    ``expressions`` maps the positions of these constants in ``PlanShape.constants`` to the new expressions.
    """
    tree = parse_source(code)

    def replace(position: int, node: ast.expr, name: str) -> ast.expr:
        return expressions.get(position, node)

    _ConstantReplacer(tree, replace, _names_bound_in(tree), keep_messages=True).visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


def _names_bound_in(tree: ast.AST) -> set[str]:
    """Return all names that the code binds: variables, parameters, functions, classes and caught exceptions."""
    names = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
    return names


class _NameNumberer(ast.NodeTransformer):
    """Renames all names that a plan binds to ``name_0``, ``name_1`` and so on, in the order of their first use."""

    def __init__(self, names: set[str]) -> None:
        self._names, self._numbers = names, dict[str, str]()

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Call):
            self._rename_keywords(node)
        for field in ("id", "arg", "name", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name in self._names and not isinstance(node, ast.keyword | ast.alias):
                setattr(node, field, self._number(name))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self._number(name) for name in node.names]
        return self.generic_visit(node)

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"name_{len(self._numbers)}")

    def _rename_keywords(self, call: ast.Call) -> None:
        """Rename the keywords of a call like the parameters of the called function, if the plan defines it."""
        if isinstance(call.func, ast.Name) and call.func.id in self._names:
            for keyword in call.keywords:
                if keyword.arg in self._names:
                    keyword.arg = self._number(keyword.arg)


class _ConstantReplacer(ast.NodeTransformer):
    """Replaces the constants of a plan. A list, tuple, set or dict that holds only constants counts as one constant.

    An attribute name that is passed to ``getattr`` or a similar function counts as code, not as a constant. Messages
    without an effect (see ``plan_shape``) are removed, except with ``keep_messages``.
    """

    def __init__(self, tree: ast.Module, replace: ReplaceConstant, names: set[str], *, keep_messages: bool) -> None:
        self._replace, self._bound_names, self._keep_messages, self._position = replace, names, keep_messages, 0
        self._parameters = {
            node.name: [arg.arg for arg in node.args.args]
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
        }
        self._classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        self._constant_name = ""

    def visit(self, node: ast.AST) -> ast.AST | None:
        """Visit a node. Only a constant uses the name that its parent left in ``_constant_name``."""
        name, self._constant_name = self._constant_name, ""
        if isinstance(node, ast.expr) and is_literal(node):
            self._position += 1
            return self._replace(self._position - 1, node, name)
        match node:
            case ast.Expr(value=ast.Constant()):
                return node if self._keep_messages else None
            case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call) if "print" not in self._bound_names:
                call.args = self._print_arguments(call.args)
                return node if call.args or self._keep_messages else None
            case ast.Raise() if not self._may_act(node):
                return node if self._keep_messages else ast.Raise()
            case ast.Assert(msg=ast.expr() as message) if not self._may_act(message):
                node.test = self._replaced(node.test)
                node.msg = message if self._keep_messages else None
                return node
            case ast.JoinedStr():
                node.values = [self._f_string_part(part) for part in node.values]
                return node
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                named = zip(values, names, strict=True)
                node.value.elts = [self._replaced(value, _name(name)) for value, name in named]  # type: ignore[attr-defined]
                node.targets = [self._replaced(node.targets[0])]
                return node
            case ast.Assign(targets=[target]):
                node.value = self._replaced(node.value, _name(target))
                node.targets = [self._replaced(target)]
                return node
            case ast.Call():
                return self._call(node)
            case ast.pattern() | ast.arg():
                return node
        return self.generic_visit(node)

    def _print_arguments(self, messages: Sequence[ast.expr]) -> list[ast.expr]:
        """Return the arguments of ``print`` that remain. Constants are replaced in those that may have an effect."""
        pairs = [(message, self._may_act(message)) for message in messages]
        return [self._replaced(message) if acts else message for message, acts in pairs if acts or self._keep_messages]

    def _may_act(self, message: ast.AST) -> bool:
        """Return True if evaluating a message may have an effect.

        This is the case if it binds a name, or calls ``agent`` or a function that is not known to be free of effects.
        """
        return any(
            isinstance(node, ast.NamedExpr) or (isinstance(node, ast.Call) and not self._only_reads(node))
            for node in ast.walk(message)
        )

    def _only_reads(self, call: ast.Call) -> bool:
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        called = [keyword.value for keyword in call.keywords if keyword.arg == "key"]
        called += call.args[:1] if _name(call.func) in _CALLERS else []
        acts = any(AGENT in (_name(argument), _owner(argument)) for argument in arguments)
        if acts or any(_name(function) in self._bound_names for function in called):
            return False
        if isinstance(call.func, ast.Attribute):
            return call.func.attr in _METHODS and _owner(call.func) != AGENT
        return _name(call.func) in (_FUNCTIONS - self._bound_names) | self._classes

    def _call(self, node: ast.Call) -> ast.Call:
        names = self._parameters.get(_name(node.func), [])
        attribute = 1 if _name(node.func) in {"getattr", "hasattr", "setattr", "delattr"} - self._bound_names else None
        node.func = self._replaced(node.func)
        node.args = [
            arg if n == attribute else self._replaced(arg, names[n] if n < len(names) else "")
            for n, arg in enumerate(node.args)
        ]
        for keyword in node.keywords:
            keyword.value = self._replaced(keyword.value, keyword.arg or "")
        return node

    def _replaced(self, node: ast.expr, name: str = "") -> ast.expr:
        self._constant_name = name
        replaced = self.visit(node)
        assert isinstance(replaced, ast.expr)
        return replaced

    def _f_string_part(self, part: ast.expr) -> ast.expr:
        """Return a part of an f-string with its constants replaced. Expressions that replace text get braces."""
        if isinstance(part, ast.FormattedValue):
            part.value = self._replaced(part.value)
            return part
        replaced = self._replaced(part)
        return replaced if isinstance(replaced, ast.Constant) else ast.FormattedValue(replaced, conversion=-1)


def is_literal(node: ast.AST) -> bool:
    """Return True for a string, a number, or a non-empty list, tuple, set or dict of them.

    Booleans and None do not count as literals.
    """
    match node:
        case ast.Constant(value=value):
            return isinstance(value, str | int | float) and not isinstance(value, bool)
        case ast.List(elts=parts, ctx=ast.Load()) | ast.Tuple(elts=parts, ctx=ast.Load()) | ast.Set(elts=parts):
            return bool(parts) and all(map(is_literal, parts))
        case ast.Dict(keys=keys, values=values):
            return (
                bool(keys) and all(key is not None and is_literal(key) for key in keys) and all(map(is_literal, values))
            )
    return False


def _owner(node: ast.AST) -> str:
    return _name(node.value) if isinstance(node, ast.Attribute) else ""


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
