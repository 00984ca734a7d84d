"""Helper methods from rules and skills, collected as code that is defined in the namespace of every plan."""

import ast
import builtins
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner import TASK, functions_to_check, plan_attributes
from planbook.rules.book import RuleBook
from planbook.rules.types import Learned, RuleType, Skill
from planbook.sandbox import REFUSED_BUILTINS, Fault, bound_names, carry, check, defined_names, parse, parse_source

_BUILTINS = frozenset(dir(builtins)) - REFUSED_BUILTINS
"""Builtins of plans; a helper must not redefine them, since it would mislead its readers."""


class Helpers(Learned):
    """Code that only defines and cannot fail; ``skipped`` lists what was left out and why."""

    code: str = ""
    skipped: tuple[str, ...] = ()


def helper_sources(book: RuleBook, skills: Iterable[Skill] = ()) -> list[tuple[str, str]]:
    """Return pairs of origin and code: the examples of helper rules, then the skills.

    If rules have no types, any example may hold a helper.
    """
    rules = [rule for rule in book.active if rule.type in (None, RuleType.USEFUL_HELPER_METHOD) and rule.example]
    return [(rule.id, rule.example) for rule in rules] + [(f"skill {skill.task.type}", skill.code) for skill in skills]


def helper_code(
    sources: Sequence[tuple[str, str]], environment: type[Environment], options: BaseModel | None = None
) -> Helpers:
    """Return the functions and classes that the sources define, with their imports and constants. Never raises.

    The first definition of a name wins; the environment's own helpers come first. Definitions that are not safe are
    left out, with everything that needs them.
    """
    collection = _Collection(environment, options)
    for origin, code in sources:
        collection.add_source(origin, dedent(code))
    return Helpers(code=_join(collection.parts), skipped=tuple(collection.skipped))


@dataclass(frozen=True, slots=True)
class _HelperPart:
    """A top-level statement: an import, a constant, a function or a class."""

    name: str
    origin: str
    source: str
    node: ast.stmt

    @property
    def is_definition(self) -> bool:
        return isinstance(self.node, ast.FunctionDef | ast.ClassDef)

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)


class _Collection:
    """Collects definitions that fit together."""

    def __init__(self, environment: type[Environment], options: BaseModel | None) -> None:
        self._functions: Mapping[str, Callable[..., object]] = functions_to_check(environment, options)
        self._attributes = plan_attributes(environment)
        self._environment = {part.name: part for part in _parts(environment.helpers, "the environment")}
        self._reserved = {TASK, *(name.partition(".")[0] for name in (*self._functions, *self._attributes))}
        self._names = bound_names(environment.helpers) | {TASK}
        self.parts: list[_HelperPart] = []
        self.skipped: list[str] = []

    def add_source(self, origin: str, code: str) -> None:
        """Add the definitions of one source, and record what is left out."""
        tree = parse(code)
        if isinstance(tree, Fault):
            where = f" in line {tree.line}" if tree.line else ""
            self.skipped.append(f"{origin}: not Python{where}; only complete definitions around it can be used")
        for name in defined_names(code):
            try:
                problem = self._add_definition(name, _parts(carry(code, [name]), origin))
            except (SyntaxError, RecursionError) as error:
                problem = f"it cannot be read: {error}"
            if problem:
                self.skipped.append(f"{origin}: {name} is left out: {problem}")

    def _add_definition(self, name: str, parts: list[_HelperPart]) -> str | None:
        """Add a definition with everything it needs; return the problem if it is left out."""
        (own,) = (part for part in parts if part.name == name)
        existing = self._defined().get(name)
        if existing is None:
            return self._add_parts(parts)
        if existing.origin != own.origin and _differ(own, existing):
            return f"{existing.origin} defines it already"
        return None

    def _add_parts(self, parts: list[_HelperPart]) -> str | None:
        """Add parts that need each other; return the problem if they do not fit."""
        defined = self._defined()
        new = [part for part in parts if part.name not in defined]
        if problem := next(self._problems(parts, new, defined), None):
            return problem
        candidate = [*self.parts, *new]
        faults = check(
            _join(candidate),
            self._functions,
            attributes=self._attributes,
            names=self._names,
            allow_definitions_only=True,
        )
        if faults:
            return f"{faults[0].type}: {faults[0].message}"
        self.parts = candidate
        return None

    def _problems(
        self, parts: list[_HelperPart], new: list[_HelperPart], defined: Mapping[str, _HelperPart]
    ) -> Iterator[str]:
        imports = [ast.unparse(part.node) for part in (*defined.values(), *new) if part.is_import]
        for part in parts:
            if not part.source:
                yield "a line that it needs holds several statements"
            elif part.name in self._reserved:
                yield f"{part.name} belongs to the environment"
            elif part.name in _BUILTINS:
                yield f"{part.name} belongs to Python"
            elif part in new:
                yield from objections(part.node, imports)
            elif not (part.is_definition and defined[part.name].is_definition) and _differ(part, defined[part.name]):
                yield f"{part.name} means something else in {defined[part.name].origin}"

    def _defined(self) -> dict[str, _HelperPart]:
        return {**{part.name: part for part in self.parts}, **self._environment}


def _parts(code: str, origin: str) -> list[_HelperPart]:
    """Return the statements of valid code, each with the comment above it."""
    lines, parts, end = code.split("\n"), list[_HelperPart](), 0
    for node in parse_source(code).body:
        source = "\n".join(lines[end : node.end_lineno]).strip("\n")
        end = node.end_lineno or end
        parts.append(_HelperPart(_name(node), origin, source, node))
    return parts


def _name(node: ast.stmt) -> str:
    """Return the name that a statement binds; empty if it binds none, or several."""
    match node:
        case ast.Import(names=[alias]) | ast.ImportFrom(names=[alias]):
            return alias.asname or alias.name.partition(".")[0]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _differ(one: _HelperPart, other: _HelperPart) -> bool:
    return ast.dump(one.node) != ast.dump(other.node)


def _join(parts: Sequence[_HelperPart]) -> str:
    """Return the parts as code: imports first, then the others in their order."""
    imports = [part.source for part in parts if part.is_import]
    others = [("\n\n" if part.is_definition else "") + part.source for part in parts if not part.is_import]
    return "\n".join((*imports, *others)).strip("\n") + "\n" if parts else ""


# Statements that are safe to run anywhere: they cannot fail, and have no effects

EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, ExceptionGroup)
)
METHOD_DECORATORS = frozenset({"classmethod", "property", "staticmethod"})
"""Method decorators that cannot fail."""


def objections(statement: ast.stmt, imports: Collection[str]) -> Iterator[str]:
    """Yield the reasons why a statement is not safe to run anywhere.

    ``imports`` are the import statements of the same code. Redefined builtins are left to the caller.
    """
    match statement:
        case ast.Import() | ast.ImportFrom():
            return
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            if not _is_plain(value) and not _is_pattern(value, imports):
                yield f"{name} is computed by code; only constants with plain values can be used"
        case ast.FunctionDef():
            yield from _function_objections(statement, frozenset())
        case ast.ClassDef():
            yield from _class_objections(statement)
        case _:
            yield f"line {statement.lineno} of it does more than define something"


def _function_objections(node: ast.FunctionDef, allowed_decorators: Collection[str]) -> Iterator[str]:
    for number, decorator in enumerate(map(ast.unparse, node.decorator_list)):
        if number or decorator not in allowed_decorators:
            yield f"the decorator @{decorator} of {node.name} is run when it is defined"
    for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
        if not _is_plain(default) and not isinstance(default, ast.Name):
            yield f"a default of {node.name} is computed by code: {ast.unparse(default)}"


def _class_objections(node: ast.ClassDef) -> Iterator[str]:
    bases = [ast.unparse(base) for base in node.bases]
    if node.decorator_list or node.keywords or len(bases) > 1 or not EXCEPTIONS.issuperset(bases):
        yield f"the class {node.name} is more than a plain class or exception"
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name=name) if name not in METHOD_DECORATORS:
                yield from _function_objections(statement, METHOD_DECORATORS)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                _is_plain(value) and name not in METHOD_DECORATORS and not name.startswith("__")
            ):
                pass
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                yield f"the class {node.name} does more than define methods and plain fields"


def _is_plain(value: ast.expr) -> bool:
    """Return True for the expression of a plain value, such as a number or a list of texts."""
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_pattern(value: ast.expr, imports: Collection[str]) -> bool:
    """Return True for ``re.compile`` of a plain pattern that compiles, with at most one flag."""
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
