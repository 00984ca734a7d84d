"""Collect helper methods from rules and skills into code that is run before every plan, so that plans can call them."""

import ast
import builtins
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from textwrap import dedent

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner import TASK, functions_to_check, plan_attributes
from planbook.rules.book import RuleBook
from planbook.rules.types import RuleType, Skill
from planbook.sandbox import REFUSED_BUILTINS, Fault, bound_names, check, defined_names, extract, parse_source

_BUILTINS = frozenset(dir(builtins)) - REFUSED_BUILTINS
"""Builtins that plans can use. A helper must not redefine them, since this would mislead readers of plans."""


def helper_sources(book: RuleBook, skills: Iterable[Skill] = ()) -> list[str]:
    """Return code that may define helpers: the examples of rules, then the code of the skills.

    Only rules of type USEFUL_HELPER_METHOD and rules without a type, which may be of any kind, contribute examples.
    """
    rules = (rule for rule in book.active if rule.type in (None, RuleType.USEFUL_HELPER_METHOD) and rule.example)
    return [rule.example for rule in rules] + [skill.code for skill in skills]


def helper_code(sources: Iterable[str], environment: type[Environment], options: BaseModel | None = None) -> str:
    """Return code with the functions and classes that the sources define, and the imports and constants they need.

    The code consists of definitions only, and cannot fail. If several sources define the same name, the first
    definition is used, and a function that needs a different one is left out. A helper of the environment takes
    precedence over functions and classes of the same name. An unsafe definition is left out, together with everything
    that needs it. Never raises.
    """
    collection = _HelperCollection(environment, options)
    for code in sources:
        collection.add_source(dedent(code))
    return _join(collection.parts)


@dataclass(frozen=True, slots=True)
class _HelperPart:
    """A top-level statement of a helper's code: an import, a constant, a function or a class."""

    name: str
    source: str
    node: ast.stmt

    @property
    def is_definition(self) -> bool:
        return isinstance(self.node, ast.FunctionDef | ast.ClassDef)

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)


class _HelperCollection:
    """Collects definitions from several sources. A definition is added only if it works together with all others."""

    def __init__(self, environment: type[Environment], options: BaseModel | None) -> None:
        self._functions: Mapping[str, Callable[..., object]] = functions_to_check(environment, options)
        self._attributes = plan_attributes(environment)
        self._environment_parts = {part.name: part for part in _parts(environment.helpers)}
        session_names = (name.partition(".")[0] for name in (*self._functions, *self._attributes))
        self._reserved = {TASK, *session_names, *_BUILTINS}
        self._bound_names = bound_names(environment.helpers) | {TASK}
        self.parts: list[_HelperPart] = []

    def add_source(self, code: str) -> None:
        """Add the definitions of a source, each with everything it needs.

        A definition is skipped if it or anything it needs is unsafe, or differs from an existing one of the same name.
        """
        for name in defined_names(code):
            defined = {**{part.name: part for part in self.parts}, **self._environment_parts}
            if name not in defined:
                with suppress(SyntaxError, RecursionError):
                    self._add(_parts(extract(code, [name])), defined)

    def _add(self, parts: list[_HelperPart], defined: Mapping[str, _HelperPart]) -> None:
        new = [part for part in parts if part.name not in defined]
        imports = [ast.unparse(part.node) for part in (*defined.values(), *new) if part.is_import]
        candidate = [*self.parts, *new]
        is_consistent = all(self._can_replace(defined[part.name], part) for part in parts if part.name in defined)
        if is_consistent and all(self._is_safe(part, imports) for part in new) and not self._faults(candidate):
            self.parts = candidate

    def _can_replace(self, existing: _HelperPart, part: _HelperPart) -> bool:
        """Return True if an existing definition can be used instead of ``part``, which has the same name.

        Both must have the same code, or both must be functions or classes, with the existing one from the environment.
        """
        is_from_environment = existing.name in self._environment_parts and existing.is_definition and part.is_definition
        return is_from_environment or ast.dump(existing.node) == ast.dump(part.node)

    def _is_safe(self, part: _HelperPart, imports: Collection[str]) -> bool:
        """Return True if a part begins on its own line, its name is not reserved, and ``is_safe`` allows it."""
        return bool(part.source) and part.name not in self._reserved and is_safe(part.node, imports)

    def _faults(self, parts: list[_HelperPart]) -> list[Fault]:
        names, attributes = self._bound_names, self._attributes
        return check(_join(parts), self._functions, attributes=attributes, names=names, allow_definitions_only=True)


def _parts(code: str) -> list[_HelperPart]:
    """Return the statements of valid code, each with the comment above it."""
    lines, parts, end = code.split("\n"), list[_HelperPart](), 0
    for node in parse_source(code).body:
        source = "\n".join(lines[end : node.end_lineno]).strip("\n")
        end = node.end_lineno or end
        parts.append(_HelperPart(_bound_name(node), source, node))
    return parts


def _bound_name(node: ast.stmt) -> str:
    """Return the name that a statement binds, or "" if it binds none or several."""
    match node:
        case ast.Import(names=[alias]) | ast.ImportFrom(names=[alias]):
            return alias.asname or alias.name.partition(".")[0]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _join(parts: Sequence[_HelperPart]) -> str:
    """Return the parts as code: first the imports, then the other parts in their order."""
    imports = [part.source for part in parts if part.is_import]
    others = [("\n\n" if part.is_definition else "") + part.source for part in parts if not part.is_import]
    return "\n".join((*imports, *others)).strip("\n") + "\n" if parts else ""


# Statements that are safe to run before any plan, since they cannot fail and only define names

EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, ExceptionGroup)
)
"""The built-in exceptions that a helper class may be derived from."""
METHOD_DECORATORS = frozenset({"classmethod", "property", "staticmethod"})
"""The decorators that methods may have, since they cannot fail."""


def is_safe(statement: ast.stmt, imports: Collection[str]) -> bool:
    """Return True if a statement cannot fail and only defines names, provided that no built-in has been redefined.

    ``imports`` holds the import statements of the same code, as text.
    """
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case (
            ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ):
            return _is_plain(value) or _is_pattern(value, imports)
        case ast.FunctionDef():
            return _is_safe_function(statement)
        case ast.ClassDef():
            bases = [ast.unparse(base) for base in statement.bases]
            is_simple = not statement.decorator_list and not statement.keywords and len(bases) < 2
            return is_simple and EXCEPTIONS.issuperset(bases) and all(map(_is_safe_member, statement.body))
    return False


def _is_safe_function(node: ast.FunctionDef, decorators: Collection[str] = ()) -> bool:
    """Return True if all defaults are plain values or names, and the only decorator, if any, is in ``decorators``."""
    defaults = (*node.args.defaults, *filter(None, node.args.kw_defaults))
    decorated = [ast.unparse(decorator) for decorator in node.decorator_list]
    return (
        len(decorated) < 2
        and all(decorator in decorators for decorator in decorated)
        and all(_is_plain(default) or isinstance(default, ast.Name) for default in defaults)
    )


def _is_safe_member(statement: ast.stmt) -> bool:
    """Return True if a statement of a class defines a safe method or a field with a plain value."""
    match statement:
        case ast.FunctionDef(name=name):
            return name not in METHOD_DECORATORS and _is_safe_function(statement, METHOD_DECORATORS)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return _is_plain(value) and name not in METHOD_DECORATORS and not name.startswith("__")
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
    return False


def _is_plain(value: ast.expr) -> bool:
    """Return True if an expression is a plain value, such as a number or a list of strings."""
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_pattern(value: ast.expr, imports: Collection[str]) -> bool:
    """Return True for a call of ``re.compile`` with a valid literal pattern and at most one flag."""
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="re"), attr="compile"),
            args=[ast.Constant(value=str(pattern))]
            | [ast.Constant(value=str(pattern)), ast.Attribute(value=ast.Name(id="re"), attr="IGNORECASE" | "I" | "M")],
            keywords=[],
        ) if "import re" in imports:
            try:
                re.compile(pattern)
            except (re.error, ValueError, OverflowError, RecursionError):
                return False
            return True
    return False
