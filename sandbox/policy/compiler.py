"""From source to a list of problems, or to compiled code.

Sizes are checked first: nothing recurses into a tree that was not measured. Only the host compiles. CPython counts the
recursion depth in a tree once for all threads, and a thread switch in between raises SystemError for sound code, so
parsing and compiling take turns. Warnings about a plan's style (``x is 1``) stay off the host's standard error.
"""

import __future__

import ast
import marshal
import re
import threading
import warnings
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import CodeType
from typing import Literal, NamedTuple

from planbook.sandbox.caching import cached_up_to
from planbook.sandbox.policy.rules import (
    MAX_COPIES,
    MAX_DEPTH,
    MAX_KEYWORDS,
    MAX_NODES,
    MAX_SOURCE,
    MAX_TEXTS,
    NAME_HINTS,
    SYNTAX,
    TOO_LARGE,
    Problem,
    syntax_hint,
)
from planbook.sandbox.policy.transformer import Enough, PlanPolicy
from planbook.sandbox.protocol import MAX_FAULT_TEXT, MAX_FAULTS
from planbook.sandbox.types import Fault, FaultKind

# Parsing and compiling, one thread at a time.

_ALONE = threading.Lock()
_WORD = re.compile(r"[0-9A-Za-z_\x80-\U0010ffff]+")
_OPENS_SCOPE = ("def", "lambda", "class", "for")
"""What a function, class or comprehension cannot be written without."""
_F_STRING = re.compile(r"(?:f|fr|rf)['\"]", re.IGNORECASE)
MAX_FIELDS = 10_000
"""Braces of a source with f-strings: up to Python 3.11 each field of one goes through a parser of its own."""
MAX_SHOWN = 300
"""Characters of a line that a fault shows."""
MAX_LOOKUPS = 4_000_000
"""Words of a source times the scopes in it: CPython copies the names of the functions around for every scope inside.
No file below 100,000 characters of the standard library, numpy or sympy has half as many."""


@contextmanager
def _alone() -> Iterator[None]:
    with _ALONE, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parse_source(source: str, name: str = "<plan>") -> ast.Module:
    """Return the tree of a source. Raises what ``ast.parse`` raises; SyntaxError for one that takes long to compile."""
    if too_much := _too_much(source):
        raise SyntaxError(f"too many {too_much} in one piece of code", (name, 1, 1, None))
    with _alone():
        return ast.parse(source, name)


def _too_much(source: str) -> str:
    """What of the source is so much that Python would take seconds over it."""
    if len(set(_WORD.findall(source))) * sum(map(source.count, _OPENS_SCOPE)) > MAX_LOOKUPS:
        return "names and functions"
    if source.count("{") > MAX_FIELDS and _F_STRING.search(source):
        return "fields of f-strings"
    return ""


def compile_tree(
    tree: ast.Module | ast.Expression, name: str, mode: Literal["exec", "eval"] = "exec", flags: int = 0
) -> CodeType:
    """Return the code of a tree. Raises what ``compile`` raises."""
    with _alone():
        code: CodeType = compile(tree, name, mode, flags, dont_inherit=True)
        return code


def code_lines(code: str) -> list[str]:
    r"""Lines as CPython counts them: only \n, \r\n and \r end a line."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def shown_line(lines: list[str], number: int) -> str:
    """A line, counted from 1, as faults show it: not all of a long one, and nothing of one that is not there."""
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}..."


# Under the policy.


class Before(NamedTuple):
    """What earlier code of a session leaves to later: names, and within a cell what ``from __future__`` changes."""

    names: frozenset[str] = frozenset()
    flags: int = 0
    modules: frozenset[str] = frozenset()
    """Modules beyond those of the standard library that the session's plans may import."""


NOTHING = Before()


@dataclass(frozen=True, slots=True)
class CompiledCell:
    """``code`` runs all but a final expression, ``tail`` evaluates that, where there is one."""

    code: CodeType
    tail: CodeType | None
    leaves: Before


class PolicyRefused(Exception):
    """The source breaks the policy or does not parse; ``problems`` lists every fault found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"line {p.line}: {p.message}" for p in self.problems))


def find_problems(
    source: str,
    bound: Iterable[str] = (),
    tree: ast.Module | None = None,
    modules: frozenset[str] = frozenset(),
) -> list[Problem]:
    """Return every fault of the source, in the order of its lines. Never raises.

    ``bound`` are names that are bound elsewhere, where the source is a part of a cell. ``tree`` is the source's tree,
    if the caller has parsed it and asked the compiler about it; it is of no use afterwards.
    """
    try:
        _compile(source, "plan", bound, Before(modules=modules), all_faults=tree is None, tree=tree)
    except PolicyRefused as refused:
        return sorted(refused.problems, key=lambda problem: (problem.line, problem.column))
    return []


def compile_cell(source: str, name: str, before: Before = NOTHING, *, is_part: bool = False) -> CompiledCell:
    """Compile under the policy. ``name`` is what tracebacks call the file. Raises PolicyRefused.

    Of a part of a cell it cannot be told whether another defines what plans do not have: there it is no name at all.
    """
    return _compile(source, name, NAME_HINTS if is_part else (), before)


def compile_plain(source: str, name: str, before: Before = NOTHING, *, is_part: bool = False) -> CompiledCell:
    """Compile as ``compile_cell`` does, without any policy. Raises PolicyRefused for what is no Python."""
    return _compile(source, name, None, before)


def too_large(tree: ast.Module) -> Problem | None:
    """Return what makes the tree too large to be walked by recursion, or to be compiled in a moment."""
    try:
        _measure(tree)
    except PolicyRefused as refused:
        return refused.problems[0]
    return None


def _compile(
    source: str,
    name: str,
    bound: Iterable[str] | None,
    before: Before = NOTHING,
    *,
    all_faults: bool = False,
    tree: ast.Module | None = None,
) -> CompiledCell:
    if len(source) > MAX_SOURCE:
        raise PolicyRefused([_too_large(f"{len(source):,} characters of code; the limit is {MAX_SOURCE:,}")])
    try:
        tree = tree or parse_source(source, name)
        _measure(tree)
        names = frozenset[str]() if bound is None else _apply_policy(tree, name, bound, before, all_faults)
        return _split(tree, name, before._replace(names=names))
    except SyntaxError as error:
        raise PolicyRefused([_no_python(error)]) from None
    except UnicodeError:
        raise PolicyRefused([_unreadable("a character that is half of a pair (a lone surrogate)")]) from None
    except (RecursionError, MemoryError):
        raise PolicyRefused([_too_large("nested too deeply")]) from None
    except ValueError as error:
        raise PolicyRefused([_unreadable(str(error))]) from None


def _no_python(error: SyntaxError) -> Problem:
    message = error.msg or "invalid syntax"
    return Problem(error.lineno or 1, max((error.offset or 1) - 1, 0), SYNTAX, message, syntax_hint(message))


def _too_large(message: str, node: ast.AST | None = None) -> Problem:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    return Problem(line, column, TOO_LARGE, message, "write it as shorter, simpler steps")


def _unreadable(message: str) -> Problem:
    return Problem(1, 0, SYNTAX, message, "use ordinary characters, or escapes such as \\u00e9 in strings")


def _apply_policy(
    tree: ast.Module, name: str, bound: Iterable[str], before: Before, all_faults: bool
) -> frozenset[str]:
    """Rewrite the tree; return the names that it binds, with those known before. Raises PolicyRefused.

    With ``all_faults`` the faults of the compiler are among those found.
    """
    misplaced = list(_misplaced(tree, name)) if all_faults else []
    policy = PlanPolicy(bound, before.names, before.modules)
    with suppress(Enough):
        policy.visit(tree)
    if problems := policy.problems + misplaced:
        raise PolicyRefused(problems)
    return before.names.union(policy.bound, policy.modules)


def _measure(tree: ast.Module) -> None:
    """Refuse trees too large to be walked by recursion, here or in CPython's compiler."""
    level: list[ast.AST] = [tree]
    finally_found = False
    nodes = depth = texts = 0
    while level:
        nodes, depth, texts = nodes + len(level), depth + 1, texts + sum(map(_multiplies_text, level))
        if nodes > MAX_NODES:
            raise PolicyRefused([_too_large(f"more than {MAX_NODES:,} names and operations")])
        if depth > MAX_DEPTH:
            raise PolicyRefused([_too_large(f"nested more than {MAX_DEPTH} levels deep", level[0])])
        if texts > MAX_TEXTS:
            raise PolicyRefused([_too_large(f"more than {MAX_TEXTS:,} texts that are multiplied")])
        if wide := next((node for node in level if _keywords(node) > MAX_KEYWORDS), None):
            raise PolicyRefused([_too_large(f"more than {MAX_KEYWORDS:,} keywords at one place", wide)])
        finally_found = finally_found or any(
            isinstance(node, ast.Try | ast.TryStar) and node.finalbody for node in level
        )
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if finally_found and _compiled_size(tree)[0] > MAX_COPIES:
        raise PolicyRefused([_too_large("`finally` blocks that would be compiled too many times over")])


def _multiplies_text(node: ast.AST) -> bool:
    """Return whether Python works out a text of up to 4,096 characters when it compiles this."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    parts = [node.left, node.right]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.Constant) and isinstance(part.value, str | bytes):
            return True
        parts += [part.left, part.right] if isinstance(part, ast.BinOp) else []
    return False


def _keywords(node: ast.AST) -> int:
    """Those of a call, a class or a pattern, each of which CPython compares with all others."""
    return len(getattr(node, "keywords", ())) + len(getattr(node, "kwd_attrs", ()))


def _compiled_size(node: ast.AST) -> tuple[int, int]:
    """Nodes that CPython's compiler will go through, and jumps out of the node among them.

    It compiles a ``finally`` block once for the end without and with an exception each, and once for every jump out.
    """
    parts = [_compiled_size(child) for child in ast.iter_child_nodes(node)]
    size, jumps = 1 + sum(part[0] for part in parts), sum(part[1] for part in parts)
    if isinstance(node, ast.Try | ast.TryStar) and node.finalbody:
        last = parts[-len(node.finalbody) :]
        last_size, last_jumps = sum(part[0] for part in last), sum(part[1] for part in last)
        copies = 1 + jumps - last_jumps
        return size + copies * last_size, jumps + copies * last_jumps
    return size, jumps + isinstance(node, ast.Return | ast.Break | ast.Continue)


def _misplaced(tree: ast.Module, name: str) -> Iterator[Problem]:
    """Yield what only the compiler finds, beside the policy's own faults: a return outside a function, say."""
    try:
        compile_tree(tree, name)
    except SyntaxError as error:
        yield _no_python(error)


def _split(tree: ast.Module, name: str, before: Before) -> CompiledCell:
    tail, flags = None, before.flags
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        tree.body.pop()
        tail = compile_tree(ast.Expression(last.value), name, "eval", flags)
    code = compile_tree(tree, name, flags=flags)
    return CompiledCell(code, tail, before._replace(flags=code.co_flags & __future__.annotations.compiler_flag))


# For workers.

MOST_KEPT = 16 << 20
"""Characters of sources and bytes of compiled code that are kept: those of the cells that were run last."""
MAX_CODE = 1 << 20
"""Bytes of compiled code. Python works out constants when it compiles: ``"ab" * 2000`` a thousand times is 4 MB."""
MAX_TEXT = 300
"""Characters of a source line, or of the message of one fault among many."""


class Request(NamedTuple):
    """What is to be compiled: a cell, or a part of one, under the policy where ``guarded``."""

    source: str
    file: str
    guarded: bool
    is_part: bool = False
    before: Before = NOTHING


class Compiled(NamedTuple):
    """The code and the final expression, marshalled, in base64; or why there is none."""

    code: str = ""
    leaves: Before = NOTHING
    faults: tuple[Fault, ...] = ()


@cached_up_to(MOST_KEPT)
def precompile(request: Request) -> Compiled:
    """Do as ``compiled``; a cell that was compiled lately is not compiled again."""
    return compiled(request)


def compiled(request: Request) -> Compiled:
    """Compile a cell. Never raises."""
    source, file, guarded, is_part, before = request
    try:
        cell = (compile_cell if guarded else compile_plain)(source, file, before, is_part=is_part)
    except PolicyRefused as refused:
        return Compiled(faults=faults_of(source, refused.problems))
    code = marshal.dumps((cell.code, cell.tail))
    if len(code) > MAX_CODE:
        message = f"the code takes {len(code):,} bytes when it is compiled; the limit is {MAX_CODE:,}"
        problem = Problem(1, 0, TOO_LARGE, message, "make long constants when the plan runs")
        return Compiled(faults=faults_of(source, [problem]))
    return Compiled(b64encode(code).decode(), cell.leaves)


def faults_of(source: str, problems: Sequence[Problem]) -> tuple[Fault, ...]:
    """Return what the policy found as faults."""
    lines = code_lines(source)

    def fault(problem: Problem) -> Fault:
        line = shown_line(lines, problem.line)
        message, hint = problem.message[:MAX_TEXT], problem.hint[:MAX_FAULT_TEXT]
        return Fault(FaultKind.CHECK, problem.name, message, problem.line, problem.column, line, hint)

    return tuple(map(fault, problems[:MAX_FAULTS]))
