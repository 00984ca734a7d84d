"""Compile the source of a *cell*, a piece of plan code that runs as a unit, or list its problems.

The size of the source and the depth of its syntax tree are checked first, so that no function here recurses too deeply.
Plan code is compiled by the host, the process that opens sessions, and never by the worker, the process that runs it.
CPython has one recursion counter for all threads that parse or compile, so a switch between threads can raise
SystemError for valid code. Therefore only one thread at a time parses or compiles. Warnings about a plan's style, such
as ``x is 1``, are suppressed.
"""

import __future__

import ast
import marshal
import re
import sys
import threading
import unicodedata
import warnings
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import CodeType
from typing import Literal, NamedTuple

from planbook.sandbox.caching import cached_up_to
from planbook.sandbox.policy.rules import (
    MAX_COMPILED_NODES,
    MAX_DEPTH,
    MAX_KEYWORDS,
    MAX_NODES,
    MAX_PATTERN_NAMES,
    MAX_SOURCE,
    MAX_STAR_IMPORTS,
    MAX_STRING_REPETITIONS,
    NAME_HINTS,
    SYNTAX,
    TOO_LARGE,
    syntax_hint,
)
from planbook.sandbox.policy.transformer import EnoughProblems, PlanPolicy
from planbook.sandbox.protocol import MAX_FAULT_TEXT, MAX_FAULTS
from planbook.sandbox.types import Fault, FaultKind

_LOCK = threading.Lock()
_WORD = re.compile(r"[0-9A-Za-z_\x80-\U0010ffff]+")
_SCOPE = re.compile(r"(?<![^\W\d])(?:def|lambda|class)\b|for\b")
"""Matches a word that may begin a function, class or comprehension.

A ``for`` also counts at the end of a longer word, since it may directly follow a number, as in ``1for`` or ``1jfor``.
"""
_F_STRING = re.compile(r"(?:f|fr|rf)['\"]", re.IGNORECASE)
_LONG_MODULE = re.compile(r"(?:\b(?:from|import)\b|,)[\s\\.]*+(?:[0-9A-Za-z_\x80-\U0010ffff]++[\s\\]*+\.[\s\\]*+){100}")
"""Matches an import of a module with more than 100 dotted parts. CPython keeps a copy of its name up to each dot."""
_NON_ASCII_RUN = re.compile(r"[^\x00-\x7f]{100,}")
MAX_MARKS = 100
"""Maximum number of combining characters, such as accents, in a row. When CPython normalizes a name, it sorts
these characters, which takes time proportional to the square of their number.
"""
_LONG_INTEGER = re.compile(r"0[xXoObB][0-9a-fA-F_]{3500}")
MAX_INTEGER_BITS = 14_284
"""Maximum number of bits of an integer in a source. Longer integers have more than 4,300 decimal digits. Python refuses
to read or print such integers in decimal notation.
"""
MAX_FSTRING_BRACES = 10_000
"""Maximum number of opening braces in a source that contains f-strings. Python up to 3.11 parses the expression in each
pair of braces separately, which is slow.
"""
MAX_SHOWN_CHARS = 300
"""Maximum number of characters of a source line in a fault."""
MAX_WORDS_TIMES_SCOPES = 4_000_000
"""Maximum product of the number of different words in a source and the number of its scopes.

A scope is a function, class or comprehension. For each scope, CPython copies the names of the functions around it. In
the standard library, numpy and sympy, every file under 100,000 characters has a product of less than half this.
"""


@contextmanager
def _locked() -> Iterator[None]:
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parse_source(source: str, name: str = "<plan>") -> ast.Module:
    """Return the syntax tree of the source.

    Raises what ``ast.parse`` raises, or SyntaxError if parsing or compiling the source would take too long.
    """
    if len(set(_WORD.findall(source))) * len(_SCOPE.findall(source)) > MAX_WORDS_TIMES_SCOPES:
        raise SyntaxError("too many names and functions in one piece of code", (name, 1, 1, None))
    if sys.version_info < (3, 12) and source.count("{") > MAX_FSTRING_BRACES and _F_STRING.search(source):
        raise SyntaxError("too many f-string fields in one piece of code", (name, 1, 1, None))
    if _LONG_MODULE.search(source):
        raise SyntaxError("a module name has more than 100 parts", (name, 1, 1, None))
    if any(map(_has_many_marks, _NON_ASCII_RUN.findall(source))):
        raise SyntaxError(f"more than {MAX_MARKS} combining characters in a row", (name, 1, 1, None))
    with _locked():
        tree = ast.parse(source, name)
    if _LONG_INTEGER.search(source) and (long := next(filter(_is_long_integer, ast.walk(tree)), None)):
        position = getattr(long, "lineno", 1), getattr(long, "col_offset", 0) + 1
        raise SyntaxError("an integer with more than 4,300 decimal digits", (name, *position, None))
    return tree


def _has_many_marks(text: str) -> bool:
    """Return whether the text has more than MAX_MARKS combining characters in a row, once it is decomposed."""
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(unicodedata.normalize("NFKD", char)[0]) else 0
        if marks > MAX_MARKS:
            return True
    return False


def _is_long_integer(node: ast.AST) -> bool:
    value = getattr(node, "value", None)
    return isinstance(node, ast.Constant) and isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS


def compile_tree(
    tree: ast.Module | ast.Expression, name: str, mode: Literal["exec", "eval"] = "exec", flags: int = 0
) -> CodeType:
    """Compile a syntax tree. Raises what ``compile`` raises."""
    with _locked():
        code: CodeType = compile(tree, name, mode, flags, dont_inherit=True)
        return code


def code_lines(code: str) -> list[str]:
    r"""Return the lines of code as CPython counts them: only \n, \r\n and \r end a line."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def shown_line(lines: list[str], number: int | None) -> str:
    """Return a line as a fault shows it: truncated if it is long, or "" if there is no line with this number.

    Lines are numbered from 1.
    """
    line = lines[number - 1] if number and 0 < number <= len(lines) else ""
    return line if len(line) <= MAX_SHOWN_CHARS else f"{line[:MAX_SHOWN_CHARS]}..."


MAX_CACHED_CHARS = 16 << 20
"""Maximum number of characters in the cache: those of the sources, and of the compiled code in base64."""
MAX_CODE = 1 << 20
"""Maximum size of compiled code in bytes. Even a short source can exceed it, since CPython multiplies constants when it
compiles: a thousand different expressions such as ``"ab" * 2000`` would take 4 MB.
"""
MAX_MESSAGE = 300
"""Maximum number of characters of a fault's message."""
_UNREADABLE_HINT = "use ordinary characters, or escapes such as \\u00e9 in strings"


class CompileContext(NamedTuple):
    """Facts about a session and its earlier code that are needed to compile later code.

    ``names`` are the names that the earlier code has bound. ``flags`` are the compiler flags that a ``from __future__``
    in an earlier part of the same cell has set.
    """

    names: frozenset[str] = frozenset()
    flags: int = 0
    modules: frozenset[str] = frozenset()
    """Modules beyond the standard library that the session's plans may import."""


NO_CONTEXT = CompileContext()


class Compiled(NamedTuple):
    """A compiled cell in the form that is sent to a worker, or the faults that the compiler found.

    ``code`` contains two code objects, marshalled and in base64: the statements, and the expression at their end (None
    if they end with another statement). It is empty if there are ``faults``.
    """

    code: str = ""
    context: CompileContext = NO_CONTEXT
    """The context for the code after this cell."""
    faults: tuple[Fault, ...] = ()


class PolicyRefused(Exception):
    """The source violates the policy or cannot be compiled. ``args`` contains all problems."""


def find_problems(
    source: str,
    bound_elsewhere: Iterable[str] = (),
    tree: ast.Module | None = None,
    modules: frozenset[str] = frozenset(),
) -> list[Fault]:
    """Return all problems of the source, sorted by line. Never raises.

    ``bound_elsewhere`` are the names that other parts of the cell bind. ``tree`` is the syntax tree of the source, if
    the caller has already parsed it. The tree is modified, so the caller must not use it afterwards.
    """
    try:
        _compile(source, "plan", bound_elsewhere, CompileContext(modules=modules), tree)
    except PolicyRefused as refused:
        return sorted(refused.args, key=lambda problem: (problem.line or 0, problem.column or 0))
    return []


def compile_for_worker(
    source: str, file: str, language_layer: bool, is_part: bool = False, context: CompileContext = NO_CONTEXT
) -> Compiled:
    """Compile a cell, or a part of one, for a worker. Never raises: faults are in the result.

    If ``language_layer``, the policy applies. ``file`` is the file name in tracebacks. A part of a cell (``is_part``)
    may use the names of refused built-ins, such as ``open``, since another part may define functions with these names.
    """
    bound_elsewhere = (NAME_HINTS if is_part else ()) if language_layer else None
    try:
        return _compile(source, file, bound_elsewhere, context)
    except PolicyRefused as refused:
        return Compiled(faults=faults_of(source, refused.args))


compile_for_worker_cached = cached_up_to(MAX_CACHED_CHARS)(compile_for_worker)
"""``compile_for_worker`` with a cache, since the same procedure may run in thousands of sessions."""


def _compile(
    source: str,
    file: str,
    bound_elsewhere: Iterable[str] | None,
    context: CompileContext,
    tree: ast.Module | None = None,
) -> Compiled:
    """Compile a cell. Unless ``bound_elsewhere`` is None, apply the policy. Raises PolicyRefused for any problem."""
    if len(source) > MAX_SOURCE:
        raise PolicyRefused(_too_large(f"{len(source):,} characters of code; the limit is {MAX_SOURCE:,}"))
    try:
        tree = tree or parse_source(source, file)
        if problem := size_problem(tree):
            raise PolicyRefused(problem)
        names = frozenset[str]() if bound_elsewhere is None else _apply_policy(tree, bound_elsewhere, context)
        return _compile_tree(tree, file, context._replace(names=names))
    except SyntaxError as error:
        message, column = error.msg or "invalid syntax", max((error.offset or 1) - 1, 0)
        raise PolicyRefused(_problem(SYNTAX, message, syntax_hint(message), error.lineno or 1, column)) from None
    except UnicodeError:
        message = "the code contains half of a surrogate pair, which is not a character"
        raise PolicyRefused(_problem(SYNTAX, message, _UNREADABLE_HINT)) from None
    except (RecursionError, MemoryError):
        raise PolicyRefused(_too_large("nested too deeply")) from None
    except ValueError as error:
        raise PolicyRefused(_problem(SYNTAX, str(error), _UNREADABLE_HINT)) from None


def _problem(kind: str, message: str, hint: str, line: int = 1, column: int = 0) -> Fault:
    return Fault(FaultKind.CHECK, kind, message, line, column, hint=hint)


def _too_large(message: str, node: ast.AST | None = None, hint: str = "split it into shorter, simpler steps") -> Fault:
    return _problem(TOO_LARGE, message, hint, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))


def _apply_policy(tree: ast.Module, bound_elsewhere: Iterable[str], context: CompileContext) -> frozenset[str]:
    """Check and modify a tree. Return the names that the tree and earlier code bind.

    Raises PolicyRefused if there is any problem.
    """
    policy = PlanPolicy(bound_elsewhere, context.names, context.modules, postpones_annotations=bool(context.flags))
    with suppress(EnoughProblems):
        policy.visit(tree)
    if policy.problems:
        raise PolicyRefused(*policy.problems)
    names = context.names.union(policy.bound, policy.imported_modules)
    # Return the old set if nothing is new, so that cached cells with equal names share one set.
    return context.names if len(names) == len(context.names) else names


def size_problem(tree: ast.Module) -> Fault | None:
    """Return a fault if the tree is too large to walk recursively or to compile quickly, else None."""
    level: list[ast.AST] = [tree]
    has_finally = False
    nodes = depth = repetitions = stars = 0
    while level:
        nodes, depth, repetitions = nodes + len(level), depth + 1, repetitions + sum(map(_repeats_string, level))
        if nodes > MAX_NODES:
            return _too_large(f"more than {MAX_NODES:,} names and operations")
        if depth > MAX_DEPTH:
            return _too_large(f"nested more than {MAX_DEPTH} levels deep", level[0])
        if repetitions > MAX_STRING_REPETITIONS:
            return _too_large(f"more than {MAX_STRING_REPETITIONS:,} string multiplications")
        stars += sum(isinstance(node, ast.alias) and node.name == "*" for node in level)
        if stars > MAX_STAR_IMPORTS:
            return _too_large(f"more than {MAX_STAR_IMPORTS} `import *` statements")
        if wide := next((node for node in level if _keyword_count(node) > MAX_KEYWORDS), None):
            return _too_large(f"more than {MAX_KEYWORDS:,} keywords in one place", wide)
        patterns = [node.pattern for node in level if isinstance(node, ast.match_case)]
        if wide := next((pattern for pattern in patterns if _bound_name_count(pattern) > MAX_PATTERN_NAMES), None):
            return _too_large(f"a pattern that binds more than {MAX_PATTERN_NAMES} names", wide)
        has_finally = has_finally or any(isinstance(node, ast.Try | ast.TryStar) and node.finalbody for node in level)
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if has_finally and _compiled_size(tree)[0] > MAX_COMPILED_NODES:
        return _too_large("`finally` blocks that Python would compile too many times")
    return None


def _repeats_string(node: ast.AST) -> bool:
    """Return whether CPython may build a string of up to 4,096 characters while it compiles this node."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    parts = [node.left, node.right]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.Constant) and isinstance(part.value, str | bytes):
            return True
        parts += [part.left, part.right] if isinstance(part, ast.BinOp) else []
    return False


def _keyword_count(node: ast.AST) -> int:
    """Return the number of keywords of a call, class or pattern. CPython compares each keyword with all others."""
    return len(getattr(node, "keywords", ())) + len(getattr(node, "kwd_attrs", ()))


def _bound_name_count(pattern: ast.pattern) -> int:
    """Return the number of names that a pattern binds. CPython compares each name with all others."""
    return sum(bool(getattr(part, "name", None) or getattr(part, "rest", None)) for part in ast.walk(pattern))


def _compiled_size(node: ast.AST) -> tuple[int, int]:
    """Return how many nodes CPython's compiler visits for a node, and how many jumps in the node may leave it.

    A jump is a ``return``, ``break`` or ``continue``. A ``finally`` block is compiled once for the normal end, once for
    an exception, and once for each jump out of the ``try`` statement.
    """
    parts = [_compiled_size(child) for child in ast.iter_child_nodes(node)]
    size, jumps = 1 + sum(part[0] for part in parts), sum(part[1] for part in parts)
    if isinstance(node, ast.Try | ast.TryStar) and node.finalbody:
        final_parts = parts[-len(node.finalbody) :]
        final_size, final_jumps = sum(part[0] for part in final_parts), sum(part[1] for part in final_parts)
        copies = 1 + jumps - final_jumps
        return size + copies * final_size, jumps + copies * final_jumps
    return size, jumps + isinstance(node, ast.Return | ast.Break | ast.Continue)


def _compile_tree(tree: ast.Module, file: str, context: CompileContext) -> Compiled:
    """Compile a cell. If it ends with an expression, compile it separately, so that the worker can return its value."""
    last, last_expression = tree.body[-1] if tree.body else None, None
    if isinstance(last, ast.Expr):
        tree.body.pop()
        last_expression = compile_tree(ast.Expression(last.value), file, "eval", context.flags)
    code = compile_tree(tree, file, flags=context.flags)
    compiled = marshal.dumps((code, last_expression))
    if len(compiled) > MAX_CODE:
        message = f"the compiled code takes {len(compiled):,} bytes; the limit is {MAX_CODE:,}"
        raise PolicyRefused(_too_large(message, hint="build large constants at run time"))
    flags = code.co_flags & __future__.annotations.compiler_flag
    return Compiled(b64encode(compiled).decode(), context._replace(flags=flags))


def faults_of(source: str, problems: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the first MAX_FAULTS problems with their lines of source, and with long texts truncated."""
    lines = code_lines(source)
    return tuple(
        replace(
            problem,
            message=problem.message[:MAX_MESSAGE],
            hint=problem.hint[:MAX_FAULT_TEXT],
            source=shown_line(lines, problem.line),
        )
        for problem in problems[:MAX_FAULTS]
    )
