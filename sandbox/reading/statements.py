"""The top-level statements of code that is still being written, each as soon as it is certain to be whole."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import UnionType

from planbook.sandbox.reading.syntax import parse_only

_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b|[ \t\f)\]}#]|$")
"""How a line begins that begins no statement."""
_TAKES_MORE = ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.TryStar
"""What an ``else`` or ``except`` further down may still belong to."""
_IN_VAIN = 400_000
"""Characters that are parsed in vain, those that are parsed again included; from then on the parser is asked again only
when half as much again has come: over a broken plan it would be asked at every line."""
DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
_ACTS = ast.Call | ast.Attribute | ast.Subscript | ast.Await


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, or several that share a line, with the comments above; lines count from 1 in the whole code.

    ``source`` begins with an empty line for each line before it in the whole. ``acts`` is whether it may do more than
    define something: without such a statement a plan does nothing.
    """

    source: str
    last_line: int
    acts: bool


class StatementFinder:
    """Finds statements in lines of code as they come. A statement is whole when the first line of the next is there.

    The next may begin with a line at the margin that does not go on (``else``, a closing bracket). If CPython's parser
    takes the lines before it for whole statements, it does.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._given = self._waiting = self._not_before = 0
        self._left = _IN_VAIN

    @property
    def code(self) -> str:
        """All lines so far."""
        return "\n".join(self._lines)

    def add(self, line: str) -> list[Statement]:
        """Take in the next line, whole; the statements that are known to be whole by it."""
        self._lines.append(line)
        self._waiting += len(line) + 1
        if _GOES_ON.match(line) or self._waiting < self._not_before:
            return []
        if found := self._give(len(self._lines) - 1):
            self._waiting, self._not_before = len(line) + 1, 0
            return found
        self._left -= self._waiting
        if self._left < 0:
            self._not_before = self._waiting + self._waiting // 2
        return []

    def close(self) -> list[Statement]:
        """What is whole if no line follows in this place, but perhaps in another: nothing that may still go on."""
        return self._give(len(self._lines), but=_TAKES_MORE)

    def _give(self, until: int, but: UnionType | None = None) -> list[Statement]:
        """The statements in the lines up to this one that were not given yet, if CPython's parser agrees."""
        found = statements_of(self._lines[:until], self._given, but)
        if len(found) == 1 and not self._given and _is_text(found[0]):
            return []
        if found:
            self._given = found[-1].last_line
        return found


def statements_of(lines: Sequence[str], given: int = 0, but: UnionType | None = None) -> list[Statement]:
    """The statements behind the first ``given`` lines, without a last one of the kind ``but``; none in broken code.

    A docstring belongs to the statement behind it: by itself it would not be the cell's.
    """
    tree = parse_only("\n".join(lines[given:]))
    body = [] if isinstance(tree, str) else tree.body
    if but is not None and body and isinstance(body[-1], but):
        body = body[:-1]
    groups = _by_lines(body)
    if not given and groups and ast.get_docstring(ast.Module(body, []), clean=False) is not None:
        groups[:2] = [[each for group in groups[:2] for each in group]]
    found: list[Statement] = []
    for group in groups:
        begin, last = found[-1].last_line if found else given, given + (group[-1].end_lineno or group[-1].lineno)
        found.append(Statement("\n" * begin + "\n".join(lines[begin:last]), last, any(map(acts, group))))
    return found


def _is_text(statement: Statement) -> bool:
    tree = parse_only(statement.source)
    return not isinstance(tree, str) and len(tree.body) == 1 and ast.get_docstring(tree, clean=False) is not None


def _by_lines(body: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Statements that share a line belong together."""
    groups: list[list[ast.stmt]] = []
    for statement in body:
        if groups and groups[-1][-1].end_lineno == statement.lineno:
            groups[-1].append(statement)
        else:
            groups.append([statement])
    return groups


def acts(statement: ast.stmt) -> bool:
    """Whether a top-level statement does more than define: constants and imports are definitions too."""
    if does_nothing(statement) or isinstance(statement, DEFINES):
        return False
    return not isinstance(statement, ast.Assign | ast.AnnAssign) or any(
        isinstance(node, _ACTS) for node in ast.walk(statement)
    )


def does_nothing(statement: ast.stmt) -> bool:
    """pass, or a value that stands there alone: a docstring, three dots, a number."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
