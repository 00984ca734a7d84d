"""Parse code, explain syntax errors, and find the statements of broken code that are intact.

CPython's parser finds the errors. Where it says only "invalid syntax", the parser tree-sitter finds an explanation.
"""

import ast
import re
from collections.abc import Iterator, Sequence

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from planbook.sandbox.policy.compiler import code_lines, compile_tree, parse_source, shown_line, size_problem
from planbook.sandbox.policy.rules import MAX_SOURCE, syntax_hint
from planbook.sandbox.types import Fault, FaultKind

FILENAME = "<plan>"
MAX_LINES = 5_000
"""Maximum number of lines and semicolons together, since CPython takes seconds to compile tens of thousands of
statements.
"""
PARSING_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Errors that CPython raises for code that it cannot parse or compile."""


def parse(code: str) -> ast.Module | Fault:
    """Return the syntax tree, or a fault if the code cannot be parsed or is too long. Never raises."""
    if too_long := _too_long(code):
        return _fault(code, too_long, None, "write a shorter plan")
    try:
        return parse_source(code, FILENAME)
    except PARSING_ERRORS as error:
        return _explain(code, error)


def parse_or_message(code: str) -> ast.Module | str:
    """Return the syntax tree, or a short message if the code cannot be parsed or is too long. Never raises.

    This is faster than ``parse``, which also explains the error.
    """
    if too_long := _too_long(code):
        return too_long
    try:
        return parse_source(code, FILENAME)
    except PARSING_ERRORS as error:
        return str(getattr(error, "msg", error))


def _too_long(code: str) -> str:
    lines = code.count("\n") + code.count(";") + 1
    for count, limit, unit in ((len(code), MAX_SOURCE, "characters"), (lines, MAX_LINES, "lines and semicolons")):
        if count > limit:
            return f"the code has {count} {unit}; at most {limit} are allowed"
    return ""


def compile_error(code: str, tree: ast.Module) -> Fault | None:
    """Return a fault if the parsed code cannot be compiled, as with a misplaced ``return``, or else None."""
    if problem := size_problem(tree):
        return _fault(code, problem.message, problem.line, problem.hint, problem.column)
    try:
        compile_tree(tree, FILENAME)
    except PARSING_ERRORS as error:
        return _explain(code, error)
    return None


def too_deep(code: str) -> Fault:
    """Return the fault for code that is nested too deeply for the parser."""
    return _fault(code, "the code is nested too deeply to be read", None, "use a loop over a list or dict")


# Explaining syntax errors.

MAX_EXPLAINED = 4_000
"""Maximum number of characters that tree-sitter parses to explain one error."""
LANGUAGE = Language(tree_sitter_python.language())
_HINTS_BY_CHARACTER = {
    **dict.fromkeys("‘’‚‛′´", "write a plain quote: '"),
    **dict.fromkeys("“”„‟″«»", 'write a plain quote: "'),
    **dict.fromkeys("，；：（）【】。、", "write the plain ASCII character"),
    **dict.fromkeys("–—−", "write a plain minus: -"),
    "…": "write three dots, or the real code: nothing fills in what is left out",
    "`": "backquotes belong around the code, not inside it",
    "\N{NO-BREAK SPACE}": "write a plain space",
}
_GENERAL_HINT = "explanations belong outside the code, or after a #"


def _tree_nodes(code: str) -> Iterator[Node]:
    """Yield every node of tree-sitter's tree in source order. Tree-sitter builds a tree even for broken code."""
    waiting = [Parser(LANGUAGE).parse(code.encode("utf-8", "replace")).root_node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def _fault(code: str, message: str, line: int | None, hint: str, column: int | None = None) -> Fault:
    source = shown_line(code_lines(code), line) if line else ""
    source = source.encode("utf-8", "backslashreplace").decode()  # a lone surrogate could not be stored
    return Fault(FaultKind.CHECK, "syntax", message, line, column, source, hint)


def _explain(code: str, error: Exception) -> Fault:
    """Return the fault for one of the errors in PARSING_ERRORS."""
    if isinstance(error, RecursionError | MemoryError):
        return too_deep(code)
    if not isinstance(error, SyntaxError) or "null bytes" in error.msg:
        return _bad_character_fault(code)
    message, line, column = error.msg, error.lineno or 1, max((error.offset or 1) - 1, 0)
    lines = code_lines(code)
    line = min(line, len(lines))
    if message == "invalid syntax":
        message = _tree_sitter_message(code, line) or message
    character = lines[line - 1][column : column + 1]
    hint = _HINTS_BY_CHARACTER.get(character) if message.startswith("invalid") else None
    hint = hint or syntax_hint(message) or _GENERAL_HINT
    return _fault(code, message, line, hint, column)


def _tree_sitter_message(code: str, line: int) -> str | None:
    """Return a better message for a line in which CPython found only "invalid syntax", or None if there is none."""
    lines = _last_statement_lines(code_lines(code)[:line])
    for node in _tree_nodes("\n".join(lines)):
        if node.start_point.row + 1 < len(lines):
            continue
        if node.is_missing:
            missing = f"an {node.type}".replace("_", " ") if node.type.isidentifier() else f"'{node.type}'"
            return f"invalid syntax: {missing} is missing"
        if node.is_error and node.text:
            text = node.text.decode("utf-8", "replace").split("\n")[0][:40]
            return f"invalid syntax at {text!r}"
    return None


def _last_statement_lines(lines: list[str]) -> list[str]:
    """Return the last lines, beginning with an unindented one. They have at most MAX_EXPLAINED characters.

    Tree-sitter can take 15 s for 40,000 characters.
    """
    remaining, start = MAX_EXPLAINED, len(lines)
    for number in range(len(lines) - 1, -1, -1):
        remaining -= len(lines[number]) + 1
        if remaining < 0:
            return lines[start:]
        start = number if lines[number][:1].strip() else start
    return lines


def _bad_character_fault(code: str) -> Fault:
    """Return a fault at the first character that Python source must not contain: NUL or a lone surrogate."""
    if found := re.search("[\0\ud800-\udfff]", code):
        before = code_lines(code[: found.start()])
        message = f"the character U+{ord(found[0]):04X} is not allowed in code"
        return _fault(code, message, len(before), "leave it out, or write it as an escape in a string", len(before[-1]))
    return _fault(code, "Python cannot read this code", None, _GENERAL_HINT)


# The statements of code that may have syntax errors.

MAX_PARSED_CHARS = 200_000
"""Maximum number of characters in all attempts to parse statements of one text. Later statements are left out."""
_MIN_COST = 100
"""Minimum number of characters that an attempt to parse counts as."""
_MAX_STATEMENT_LINES = 60
CONTINUATION = re.compile(r"\f*(?:(?:else|elif|except|finally)\b|[ \t)\]}#]|$)")
"""Matches the beginning of a line that continues a statement, is blank, or contains only a comment."""
_OPEN_ENDED = ("was never closed", "unterminated triple-quoted", "expected an indented block", "expected 'except'")
"""Phrases in CPython's messages about code that later lines may complete."""


def whole_statements(lines: Sequence[str]) -> list[ast.stmt]:
    """Return the statements of broken code that can be parsed. Their line numbers are those in the whole code."""
    statements: list[ast.stmt] = []
    start, remaining = 0, MAX_PARSED_CHARS
    while start < len(lines) and remaining > 0:
        end = next_start = _next_start(lines, start)
        while isinstance(tree := parse_or_message(code := "\n".join(lines[start:end])), str):
            remaining -= max(len(code), _MIN_COST)
            is_open = end - start <= _MAX_STATEMENT_LINES and any(words in tree for words in _OPEN_ENDED)
            if end >= len(lines) or remaining < 0 or not is_open:
                break
            end = _next_start(lines, end)
        else:
            remaining -= max(len(code), _MIN_COST)
            statements += [ast.increment_lineno(statement, start) for statement in tree.body]
            next_start = end
        start = next_start
    return statements


def _next_start(lines: Sequence[str], start: int) -> int:
    """Return the number of the next line that may begin a statement.

    Such a line is neither blank nor a comment, does not continue a statement, and is not directly below a decorator.
    """
    for number in range(start + 1, len(lines)):
        if not CONTINUATION.match(lines[number]):
            if not lines[start].startswith("@"):
                return number
            start = number
    return len(lines)
