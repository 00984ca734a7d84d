"""Find the parts of a plan: its steps, functions and classes. Extract functions and classes with what they need.

A *cell* is a piece of plan code that runs as a unit. A *step* begins with a comment such as ``# [Step 1]``.
"""

import ast
import builtins
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from planbook.sandbox.caching import cached_up_to
from planbook.sandbox.policy.compiler import code_lines
from planbook.sandbox.reading.scopes import Scopes, scopes_of
from planbook.sandbox.reading.syntax import parse_or_message, whole_statements

_STEP = re.compile(r"#++\s*+\[Step\s*+([\w.-]*+)\s*+\]", re.IGNORECASE)
STRING_OR_COMMENT = re.compile(
    r"""(?P<long>\"{3}|'{3})(?:\\.|(?!(?P=long)).)*+ (?P<closed>(?P=long))?
      | (?P<short>["'])(?:\\.|(?!(?P=short))[^\n])*+ (?P=short)?
      | (?P<comment>\#[^\n]*)""",
    re.DOTALL | re.VERBOSE,
)
"""Matches a string or a comment. One pattern finds both: a string may contain `#`, and a comment may contain quotes.

A string need not be closed. If a string with three quotes is closed, the group ``closed`` matches its closing quotes.
"""
_BUILTINS = frozenset(dir(builtins))
_MAX_CACHED = 4 << 20
"""Maximum total number of characters of the cells whose names are cached."""
MAX_PARTS = 500
"""Maximum number of top-level definitions, imports and constants. From code with more, nothing is extracted: each may
need all others, so the time would grow with the square of their number.
"""
ANY_NAME = "*"
"""Represents unknown names, such as those that a star import binds."""


def bound_names(code: str) -> frozenset[str]:
    """Return the names that a cell defines for later cells, or an empty set if the code cannot be parsed."""
    return possibly_bound_names(code) - {ANY_NAME}


@cached_up_to(_MAX_CACHED)
def possibly_bound_names(code: str) -> frozenset[str]:
    """Return the names that a cell, or a part of one, defines for later code, and ANY_NAME if it may define others."""
    scopes = _scopes(code)
    return frozenset(scopes.module.bindings) | ({ANY_NAME} if scopes.binds_any_name else frozenset())


def _scopes(code: str) -> Scopes:
    tree = parse_or_message(code)
    with suppress(RecursionError):
        if isinstance(tree, ast.Module):
            return scopes_of(tree)
    return scopes_of(ast.Module([], []))


@dataclass(frozen=True, slots=True)
class _CodePart:
    """A top-level statement that can be extracted: an import, a constant, a function or a class.

    ``kind`` is "import", "constant" or "definition". ``needs`` are the names that the statement reads.
    """

    kind: str
    source: str
    line: int
    needs: frozenset[str]


def step_numbers(code: str) -> list[str]:
    """Return the numbers ``n`` of the comments ``# [Step n]``, in order, even if the code is broken."""
    steps = (_STEP.match(match["comment"]) for match in STRING_OR_COMMENT.finditer(code) if match["comment"])
    return [step[1] for step in steps if step]


def defined_names(code: str) -> list[str]:
    """Return the names of the top-level functions and classes, in order. Those with syntax errors are left out."""
    return [name for name, part in _parts(code).items() if part.kind == "definition"]


def extractable_names(code: str) -> frozenset[str]:
    """Return the names of the code's top-level functions, classes, imports and constants."""
    return frozenset(_parts(code))


def extract(code: str, names: Iterable[str]) -> str:
    """Return code that consists of the definitions of these names, and of everything that these definitions need.

    Imports come first. Raises LookupError if a name is not in ``extractable_names``.
    """
    parts, requested = _parts(code), set(names)
    if unknown := sorted(requested - parts.keys()):
        raise LookupError(f"cannot extract from this code: {', '.join(unknown)}")
    needed = _with_dependencies(requested, parts)
    chosen = [part for name, part in parts.items() if name in needed]
    chosen.sort(key=lambda part: (part.kind != "import", part.line))
    texts = [("\n\n" if part.kind == "definition" else "") + part.source for part in chosen]
    return "\n".join(dict.fromkeys(texts)).strip("\n") + "\n" if texts else ""


def _with_dependencies(names: Iterable[str], parts: dict[str, _CodePart]) -> set[str]:
    """Return these names and the names of all parts that they need, directly or indirectly."""
    needed, pending = set[str](), list(names)
    while pending:
        if (name := pending.pop()) not in needed:
            needed.add(name)
            pending += parts[name].needs & parts.keys()
    return needed


def _parts(code: str) -> dict[str, _CodePart]:
    """Return a dict that maps names to extractable parts of the code.

    The dict is empty if there are more than MAX_PARTS, or if the code is nested too deeply.
    """
    tree, lines = parse_or_message(code), code_lines(code)
    try:
        parts = _collect(tree.body if isinstance(tree, ast.Module) else whole_statements(lines), lines)
    except RecursionError:
        return {}
    return parts if len(parts) <= MAX_PARTS else {}


def _collect(statements: list[ast.stmt], lines: list[str]) -> dict[str, _CodePart]:
    """Return a dict that maps each name to the part that defines it.

    A variable that is bound more than once is not a constant. Of several definitions of a name, the last one counts. If
    a constant shares a line with another statement, its source comes from ``ast.unparse``.
    """
    parts: dict[str, _CodePart] = {}
    non_constants: set[str] = set()
    shared = {first.end_lineno for first, second in pairwise(statements) if first.end_lineno == second.lineno}
    for statement in statements:
        match statement:
            case ast.Import() | ast.ImportFrom():
                for alias in statement.names:
                    source = _single_import(statement, alias)
                    parts[alias.asname or alias.name.partition(".")[0]] = _CodePart(
                        "import", source, statement.lineno, frozenset()
                    )
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                parts[statement.name] = _definition_part(statement, lines)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                if name in parts or not _is_constant(value, parts):
                    non_constants.add(name)
                else:
                    source = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
                    source = ast.unparse(statement) if shared & {statement.lineno, statement.end_lineno} else source
                    parts[name] = _CodePart("constant", source, statement.lineno, _free_names(statement))
            case _:
                non_constants |= set(scopes_of(statement).module.bindings)
    return {name: part for name, part in parts.items() if part.kind != "constant" or name not in non_constants}


def _definition_part(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: list[str]) -> _CodePart:
    """Return a definition with its decorators and the comment above it, unless that comment begins a step."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    while first > 1 and lines[first - 2].startswith("#") and not _STEP.match(lines[first - 2]):
        first -= 1
    return _CodePart(
        "definition", "\n".join(lines[first - 1 : node.end_lineno]), node.lineno, _free_names(node) - {node.name}
    )


def _free_names(statement: ast.stmt) -> frozenset[str]:
    return frozenset(scopes_of(statement).free_names()) - _BUILTINS


def _is_constant(value: ast.expr, parts: dict[str, _CodePart]) -> bool:
    """Return whether an expression has no effect, and would have the same value if it were extracted.

    It may use imports, constants and definitions, but call only built-ins, imports and methods of literals: the plan's
    own functions might call actions.
    """
    if not scopes_of(value).free_names() <= _BUILTINS | parts.keys():
        return False
    calls = [node.func for node in ast.walk(value) if isinstance(node, ast.Call)]
    return all(_is_harmless(call, parts) for call in calls)


def _is_harmless(called: ast.expr, parts: dict[str, _CodePart]) -> bool:
    """Return whether a called expression is a built-in, an import or a method of a literal."""
    while isinstance(called, ast.Attribute):
        called = called.value
    if not isinstance(called, ast.Name):
        return isinstance(called, ast.Constant)
    part = parts.get(called.id)
    return part.kind == "import" if part else called.id in _BUILTINS


def _single_import(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return the source of an import of only ``alias``, one of the names that the statement imports."""
    if isinstance(statement, ast.Import):
        return ast.unparse(ast.Import([alias]))
    return ast.unparse(ast.ImportFrom(statement.module, [alias], statement.level))
