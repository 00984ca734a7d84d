"""Find code in a text without fences: lines that can be parsed as Python and that do something."""

import ast
import re
from collections.abc import Iterator, Sequence

from planbook.sandbox.reading.syntax import parse_only

_MAX_PARSED = 200_000
"""Maximum number of characters of one text that are parsed, counted each time. All text after that counts as prose."""
_MIN_COST = 100
"""Minimum number of characters that each parse counts for."""
_MAX_EXAMINED = 300
"""Maximum number of characters of a line that are examined: half at its beginning and half at its end."""
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
"""Invisible characters that Python refuses in names."""
_TRIPLE = re.compile(r"\"\"\"|'''")
_MAX_STATEMENT_LINES = 60
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b|[)\]}]")
_OPEN_STRING = "unterminated triple-quoted"
_OPEN_ENDED = ("was never closed", _OPEN_STRING, "expected an indented block", "expected 'except'")
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
    """Return the longest run of lines that can be parsed and that do something, or None.

    Lines count from 0. If other lines look like code, too, the range includes them and all lines in between. This
    keeps one half of a plan from running alone if the other half has an error.
    """
    best = max(_runs(lines), key=len, default=None)
    suspects = [number for number, line in enumerate(lines) if _looks_like_code(line) and not (best and number in best)]
    if not suspects:
        return best
    ends = [best.start, best.stop - 1] if best else []
    return range(min([*suspects, *ends]), max([*suspects, *ends]) + 1)


class ProseScanner:
    """Reads the lines of a text outside its fenced blocks, to detect a triple-quoted string that is not closed yet."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._remaining = _MAX_PARSED
        self._ends_in_string = self._needs_check = False

    def add(self, line: str) -> None:
        """Add the next line."""
        self._lines.append(line)
        self._needs_check = self._needs_check or _TRIPLE.search(line) is not None

    def clear(self) -> None:
        """Forget all lines, after a fenced block."""
        self._lines.clear()
        self._ends_in_string = self._needs_check = False

    def ends_in_string(self) -> bool:
        """Return whether the text ends inside a triple-quoted string, or if that would take too long to find out."""
        if self._needs_check:
            self._ends_in_string, self._needs_check = self._find_open_string(), False
        return self._ends_in_string

    def _find_open_string(self) -> bool:
        for span, _, cost, problem in _statements(self._lines):
            if self._remaining <= 0:
                break
            self._remaining -= cost
            if _OPEN_STRING in problem and _OPEN_STRING in self._problem(span.start):
                return True
        return self._remaining <= 0

    def _problem(self, start: int) -> str:
        code = "\n".join(self._lines[start:])
        self._remaining -= len(code)
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
    """Return the runs of statements that can be parsed. Each run begins and ends with one that does something."""
    runs: list[range] = []
    start: int | None = None
    for span, tree, _, _ in _statements(lines):
        if tree is None:
            start = None
        elif any(map(_does_something, tree.body)):
            if start is None:
                start = span.start
                runs.append(span)
            runs[-1] = _without_blank_end(range(start, span.stop), lines)
    return runs


def whole_statements(lines: Sequence[str]) -> list[ast.stmt]:
    """Return the intact statements of broken code. Their line numbers are those in the whole code."""
    pieces = [(span, tree.body) for span, tree, _, _ in _statements(lines) if tree]
    return [ast.increment_lineno(statement, span.start) for span, body in pieces for statement in body]


def _statements(lines: Sequence[str]) -> Iterator[tuple[range, ast.Module | None, int, str]]:
    """Yield each statement: its line range, its tree, the number of characters parsed, and the parser's message.

    The tree is None for lines that are not Python.
    """
    number, remaining = 0, _MAX_PARSED
    while number < len(lines) and remaining > 0:
        if not lines[number].strip():
            number += 1
            continue
        tree, end, cost, problem = _statement_from(lines, number)
        remaining -= cost
        yield range(number, end), tree, cost, problem
        number = end


def _statement_from(lines: Sequence[str], start: int) -> tuple[ast.Module | None, int, int, str]:
    """Parse the statement that starts at a line.

    Return its tree, the number of the line after it, the number of characters parsed, and the parser's message. The
    tree is None if no statement starts there.
    """
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
    """Return the number of the next line that may begin a statement.

    Such a line is not blank, not indented, does not continue a statement, and is not below a decorator.
    """
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.strip() and line[0] not in " \t" and not _CONTINUES.match(line):
            if not lines[start].startswith("@"):
                return number
            start = number
    return len(lines)


def _does_something(statement: ast.stmt) -> bool:
    """Return whether a statement does something. Prose such as "Done" or "Answer: 42" is parsed, but does nothing."""
    match statement:
        case ast.Expr(value=value) | ast.Raise(exc=value):
            return isinstance(value, ast.Call)
        case ast.Assert(test=value):
            return not isinstance(value, ast.Name)
    return isinstance(statement, _ACTS)
