"""Find the statements of a reply that is still being written, as soon as each certainly belongs to the plan.

Only statements of the first block marked as Python are certain early: that block begins the plan, whatever follows.
Code without such a mark, later blocks, and a block whose end is in doubt (a fence inside a string) wait for the end of
the reply.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import UnionType

from planbook.sandbox.reading.reply import MAX_BLOCKS, OPENING, PYTHON, closing_of, language_of, margin_of
from planbook.sandbox.reading.syntax import MAX_LINES, parse_only
from planbook.sandbox.reading.unfenced import ProseScanner

# Statements of code.

_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b|[ \t\f)\]}#]|$")
"""The beginning of a line that continues a statement."""
_MAY_CONTINUE = ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.TryStar
"""Statements that a later ``else`` or ``except`` may continue."""
_MAX_FAILED = 400_000
"""Maximum characters parsed without success, counting repeated parses. After that, code is parsed again only once
it has grown by half: a broken plan would otherwise be parsed again at every line."""
DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
_ACTS = ast.Call | ast.Attribute | ast.Subscript | ast.Await


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, or several that share a line, with the comments above; lines count from 1 in the whole code.

    ``source`` begins with one empty line for each line before it. ``acts`` is True if it may do more than define
    something. A plan without such a statement does nothing.
    """

    source: str
    last_line: int
    acts: bool


class StatementFinder:
    """Finds statements in the first ``MAX_LINES`` lines of code as they arrive; more lines are refused in the end.

    A statement is complete when the next one begins. A line at the margin begins the next one unless it continues a
    statement (``else``, a closing bracket), if CPython parses the lines before it as whole statements.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._taken_lines = self._waiting = self._not_before = 0
        self._left = _MAX_FAILED

    @property
    def code(self) -> str:
        """All lines so far, joined."""
        return "\n".join(self._lines)

    def add(self, line: str) -> list[Statement]:
        """Add the next line, and return the statements that it completes."""
        self._lines.append(line)
        self._waiting += len(line) + 1
        if _CONTINUES.match(line) or self._waiting < self._not_before or len(self._lines) > MAX_LINES:
            return []
        if statements := self._take_statements(len(self._lines) - 1):
            self._waiting, self._not_before = len(line) + 1, 0
            return statements
        self._left -= self._waiting
        if self._left < 0:
            self._not_before = self._waiting + self._waiting // 2
        return []

    def close(self) -> list[Statement]:
        """Return the statements complete at the end of a block, except a last one that a later block may continue."""
        return self._take_statements(len(self._lines), without=_MAY_CONTINUE)

    def _take_statements(self, until: int, without: UnionType | None = None) -> list[Statement]:
        """Return the new statements in the lines up to this one; none if CPython cannot parse them."""
        statements = statements_of(self._lines[:until], self._taken_lines, without)
        if len(statements) == 1 and not self._taken_lines and _is_docstring(statements[0]):
            return []
        if statements:
            self._taken_lines = statements[-1].last_line
        return statements


def statements_of(lines: Sequence[str], skip: int = 0, without: UnionType | None = None) -> list[Statement]:
    """Return the statements after the first ``skip`` lines; none if the code is broken.

    A last one of the types ``without`` is left out. A docstring belongs to the statement after it: run alone, it would
    not be the cell's docstring.
    """
    tree = parse_only("\n".join(lines[skip:]))
    body = [] if isinstance(tree, str) else tree.body
    if without is not None and body and isinstance(body[-1], without):
        body = body[:-1]
    groups = _group_by_line(body)
    if not skip and groups and ast.get_docstring(ast.Module(body, []), clean=False) is not None:
        groups[:2] = [[statement for group in groups[:2] for statement in group]]
    statements: list[Statement] = []
    for group in groups:
        begin = statements[-1].last_line if statements else skip
        last = skip + (group[-1].end_lineno or group[-1].lineno)
        statements.append(Statement("\n" * begin + "\n".join(lines[begin:last]), last, any(map(acts, group))))
    return statements


def _is_docstring(statement: Statement) -> bool:
    tree = parse_only(statement.source)
    return not isinstance(tree, str) and len(tree.body) == 1 and ast.get_docstring(tree, clean=False) is not None


def _group_by_line(body: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Return the statements grouped by line."""
    groups: list[list[ast.stmt]] = []
    for statement in body:
        if groups and groups[-1][-1].end_lineno == statement.lineno:
            groups[-1].append(statement)
        else:
            groups.append([statement])
    return groups


def acts(statement: ast.stmt) -> bool:
    """Return whether a top-level statement does more than define. Constants and imports count as definitions."""
    if does_nothing(statement) or isinstance(statement, DEFINES):
        return False
    return not isinstance(statement, ast.Assign | ast.AnnAssign) or any(
        isinstance(node, _ACTS) for node in ast.walk(statement)
    )


def only_defines(tree: ast.Module) -> bool:
    """Return whether the code holds nothing but definitions, imports and bare constants."""
    return all(isinstance(statement, DEFINES) or does_nothing(statement) for statement in tree.body)


def does_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is ``pass`` or a bare constant, such as a docstring or ``...``."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


# Statements of a reply.

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class StatementBatch:
    """Statements that became certain with the first ``chars`` characters of the reply."""

    statements: list[Statement]
    chars: int


def chars_to_line(text: str, number: int) -> int:
    """Return the number of characters up to the end of a line, counted from 1; all of them if it does not exist."""
    ends = [end.start() for end in _LINE_END.finditer(text)]
    return ends[number - 1] if number <= len(ends) else len(text)


class GrowingReply:
    """Reads a reply line by line while it arrives in pieces of any size."""

    def __init__(self) -> None:
        self._text = ""
        self._begin = self._searched = 0
        self._ends: list[int] = []
        self._blocks = 0
        self._outside = ProseScanner()
        self._closing: re.Pattern[str] | None = None
        self._indent = ""
        self._margin: str | None = None
        self._opening_line: int | None = None
        self._blank: list[str] = []
        """Lines of the block before its margin is known."""
        self._done = False
        self._statements = StatementFinder()

    @property
    def code(self) -> str:
        """The certain part of the plan's code so far."""
        return self._statements.code

    @property
    def before(self) -> str:
        """The prose before the code."""
        return self._text[: self._ends[self._opening_line - 1]].strip() if self._opening_line else ""

    def chars_to(self, code_line: int) -> int:
        """Return the number of characters of the reply up to the end of a line of ``code``."""
        assert self._opening_line is not None, "no line of code has arrived yet"
        return self._ends[self._opening_line + code_line]

    def add(self, piece: str) -> Iterator[StatementBatch]:
        """Add the next piece of the reply, and yield the statements that it makes certain."""
        self._text += piece
        for line in self._whole_lines():
            if not self._done and (statements := self._read_line(line)):
                yield StatementBatch(statements, self._begin)

    def _whole_lines(self) -> Iterator[str]:
        r"""Yield complete lines. A final \r is not complete: \n may follow."""
        while (end := _LINE_END.search(self._text, self._searched)) and not (
            end[0] == "\r" and end.end() == len(self._text)
        ):
            line = self._text[self._begin : end.start()]
            self._ends.append(end.start())
            self._begin = self._searched = end.end()
            yield line
        self._searched = max(self._begin, len(self._text) - 1)

    def _read_line(self, line: str) -> list[Statement]:
        if self._opening_line is not None:
            return self._read_code_line(line)
        if self._closing is None:
            self._look_for_block(line)
        elif self._closing.match(line):
            self._closing = None
            self._outside.clear()
        return []

    def _look_for_block(self, line: str) -> None:
        if not (opening := OPENING.match(line)) or self._outside.ends_in_string():
            self._outside.add(line)
            return
        self._indent, fence, info = opening.groups()
        self._closing = closing_of(fence)
        self._blocks += 1
        if self._blocks > MAX_BLOCKS:
            self._done = True
        elif language_of(info) in PYTHON:
            self._opening_line = len(self._ends) - 1

    def _read_code_line(self, line: str) -> list[Statement]:
        assert self._closing is not None
        if self._closing.match(line):
            self._done = True
            return [] if isinstance(parse_only(self.code), str) else self._statements.close()
        line = line.removeprefix(self._indent)
        if self._margin is None:
            if not line.strip():
                self._blank.append(line)
                return []
            self._margin = margin_of(line)
            for blank in self._blank:
                self._statements.add(blank.removeprefix(self._margin))
        return self._statements.add(line.removeprefix(self._margin))
