"""Find code in prose without fences: lines that parse and do something."""

import ast
import re
from collections.abc import Sequence

from planbook.sandbox.reading.syntax import parse_only

_MAX_PARSED = 200_000
"""Maximum characters of one text that are parsed, counting repeated parses. The rest is treated as prose."""
_MIN_COST = 100
"""Minimum number of characters that one parse counts for."""
_MAX_EXAMINED = 300
"""Maximum characters of a line that are examined: half at its beginning, half at its end."""
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
"""Invisible characters, which Python refuses in a name."""
_TRIPLE = re.compile(r"\"\"\"|'''")
_MAX_STATEMENT_LINES = 60
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b|[)\]}]")
_OPEN_ENDED = ("was never closed", "unterminated triple-quoted", "expected an indented block", "expected 'except'")
_LOOKS_LIKE_CODE = re.compile(
    r"""\s*(?:
        (?:def|class)\s+\w+.*:\s*$ | (?:if|elif|for|while|with|try|else|except|finally)\b.*:\s*$
      | (?:from\s+[\w.]+\s+)?import\s+\w+ | @\w+
      | (?:return|assert|raise)\s+(?:[\w.]+[\[(=!<>.]\S*$ | [\w.]++[\[(=!<>.\s]*\s\S*$)
      | (?:return|raise|yield)\s+(?:["'\[({].*|[\d.]+)\s*$ | (?:return|raise|pass|break|continue)\s*$
      | [\w.]+(?:\[.*\])?\s*[-+*/|&]?=\s*\S | [\w.]+\(.*
    )""",
    re.VERBOSE,
)
_ACTS = (
    ast.Assign | ast.AugAssign | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    | ast.For | ast.While | ast.If | ast.With | ast.Try | ast.Match
)  # fmt: skip


def find_code(lines: list[str]) -> range | None:
    """Return the longest run of lines, counted from 0, that parses and does something; None if there is none.

    If lines outside the run look like code, too, the range covers them all: half of a plan must not run when the other
    half has an error.
    """
    runs = _runs(lines)
    best = max(runs, key=len, default=None)
    suspects = [number for number, line in enumerate(lines) if _looks_like_code(line) and not (best and number in best)]
    if not suspects:
        return best
    ends = [best.start, best.stop - 1] if best else []
    return range(min([*suspects, *ends]), max([*suspects, *ends]) + 1)


class ProseScanner:
    """Follows the lines of a text outside its fences, to detect strings that are still open."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._left = _MAX_PARSED
        self._ends_in_string = self._unsure = False

    def add(self, line: str) -> None:
        """Add the next line."""
        self._lines.append(line)
        self._unsure = self._unsure or _TRIPLE.search(line) is not None

    def clear(self) -> None:
        """Start again after a block."""
        self._lines.clear()
        self._ends_in_string = self._unsure = False

    def ends_in_string(self) -> bool:
        """Return whether the text ends inside a triple-quoted string, or True if finding out took too long."""
        if self._unsure:
            self._ends_in_string, self._unsure = self._begins_string(), False
        return self._ends_in_string

    def _begins_string(self) -> bool:
        lines, number = self._lines, 0
        while number < len(lines) and self._left > 0:
            if not lines[number].strip():
                number += 1
                continue
            end, cost, problem = _statement_from(lines, number)[1:]
            self._left -= cost
            if "unterminated triple-quoted" in problem and "unterminated triple-quoted" in self._problem(number):
                return True
            number = end
        return self._left <= 0

    def _problem(self, start: int) -> str:
        code = "\n".join(self._lines[start:])
        self._left -= len(code)
        tree = parse_only(code)
        return "" if isinstance(tree, ast.Module) else tree


def _looks_like_code(line: str) -> bool:
    line = _INVISIBLE.sub("", line)
    if len(line) > _MAX_EXAMINED:
        line = line[: _MAX_EXAMINED // 2] + line[-_MAX_EXAMINED // 2 :]
    return _LOOKS_LIKE_CODE.match(line) is not None


def _without_blank_end(span: range, lines: list[str]) -> range:
    end = span.stop
    while not lines[end - 1].strip():
        end -= 1
    return range(span.start, end)


def _runs(lines: list[str]) -> list[range]:
    """Return runs of statements that parse. Each begins and ends with one that does something."""
    runs: list[range] = []
    start: int | None = None
    for span, tree in _statements(lines):
        if tree is None:
            start = None
        elif any(map(_does_something, tree.body)):
            if start is None:
                start = span.start
                runs.append(span)
            runs[-1] = _without_blank_end(range(start, span.stop), lines)
    return runs


def whole_statements(lines: Sequence[str]) -> list[ast.stmt]:
    """Return the intact statements of broken code, with their line numbers in the whole code."""
    pieces = [(span, tree.body) for span, tree in _statements(lines) if tree]
    return [ast.increment_lineno(statement, span.start) for span, body in pieces for statement in body]


def _statements(lines: Sequence[str]) -> list[tuple[range, ast.Module | None]]:
    """Return the lines of each statement and its tree, which is None for lines that are not Python."""
    statements: list[tuple[range, ast.Module | None]] = []
    number, left = 0, _MAX_PARSED
    while number < len(lines) and left > 0:
        if not lines[number].strip():
            number += 1
            continue
        tree, end, cost, _ = _statement_from(lines, number)
        left -= cost
        statements.append((range(number, end), tree))
        number = end
    return statements


def _statement_from(lines: Sequence[str], start: int) -> tuple[ast.Module | None, int, int, str]:
    """Return the tree of the statement at a line, the line after it, the characters parsed, the parser's message."""
    end, cost = _next_start(lines, start), 0
    while True:
        code = "\n".join(lines[start:end])
        tree = parse_only(code)
        cost += max(len(code), _MIN_COST)
        if isinstance(tree, ast.Module):
            return tree, end, cost, ""
        open_ended = any(message in tree for message in _OPEN_ENDED)
        if end >= len(lines) or end - start > _MAX_STATEMENT_LINES or not open_ended or cost > _MAX_PARSED:
            return None, _next_start(lines, start), cost, tree
        end = _next_start(lines, end)


def _next_start(lines: Sequence[str], start: int) -> int:
    """Return the next line that may begin a statement: not blank, indented, a continuation, or below a decorator."""
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.strip() and line[0] not in " \t" and not _CONTINUES.match(line):
            if not lines[start].startswith("@"):
                return number
            start = number
    return len(lines)


def _does_something(statement: ast.stmt) -> bool:
    """Return whether a statement acts. Prose such as "Done" or "Answer: 42" also parses, and does not count."""
    match statement:
        case ast.Expr(value=value) | ast.Raise(exc=value):
            return isinstance(value, ast.Call)
        case ast.Assert(test=value):
            return not isinstance(value, ast.Name)
    return isinstance(statement, _ACTS)
