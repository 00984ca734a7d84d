"""Find the statements in a reply that is still being written, so that they can run before the reply is complete.

A block is the code between two Markdown fences (lines with ```). A statement is returned as soon as it certainly
belongs to the plan. Before the end of the reply, only statements in the first block that is marked as Python do: the
plan begins with this block, unless a later block revises it, which the caller must detect. Other code has to wait for
the end of the reply: unmarked blocks, later blocks, and a block whose end is uncertain because a string contains a
fence.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import UnionType

from planbook.sandbox.policy.rules import unqualified_name
from planbook.sandbox.reading.reply import MAX_BLOCKS, OPENING, PYTHON, ProseScanner, closing_of, indent_of, language_of
from planbook.sandbox.reading.syntax import CONTINUATION, MAX_LINES, parse_or_message

# Statements of code.

_MAY_CONTINUE = ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.TryStar
"""Statements that an ``else`` or ``except`` on a later line may continue."""
_MAX_FAILED_CHARS = 400_000
"""Maximum total number of characters in failed attempts to parse, of which there is one at each new line. Beyond it,
the pending code is parsed again only when it has grown by half.
"""
DEFINITION_TYPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
_ACTING_TYPES = ast.Call | ast.Attribute | ast.Subscript | ast.Await
_HARMLESS_NAMES = frozenset(
    """ABCMeta abstractmethod auto cache cached_property classmethod compile contextmanager dataclass dict field
    frozenset list lru_cache namedtuple override property set setter staticmethod total_ordering tuple wraps""".split()
)
"""Decorators, metaclasses and functions that do not call their arguments while a definition runs."""
_SUBCLASS_HOOKS = frozenset({"__init_subclass__", "__class_getitem__"})
"""Methods that may run when a subclass is defined."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, or several that share a line, with the comments above them.

    ``source`` begins with one empty line for each line of code before the statement, so that line numbers in errors are
    right. ``last_line`` is the number of the last line in the whole code, counted from 1. ``acts`` is True if the
    statement may do more than define something. A plan in which no statement acts does nothing.
    """

    source: str
    last_line: int
    acts: bool


class StatementFinder:
    """Finds statements in the first MAX_LINES lines of code that arrives line by line. A longer plan is refused anyway.

    A statement is complete when the next one begins. A line begins the next statement if it is not indented, if it
    does not continue a statement as ``else`` or a closing bracket does, and if CPython can parse the lines before it.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._taken_lines = self._pending_chars = self._retry_at = 0
        self._remaining = _MAX_FAILED_CHARS

    @property
    def code(self) -> str:
        """The code that has arrived so far."""
        return "\n".join(self._lines)

    def add(self, line: str) -> list[Statement]:
        """Add the next line, and return the statements that it completes."""
        self._lines.append(line)
        self._pending_chars += len(line) + 1
        if CONTINUATION.match(line) or self._pending_chars < self._retry_at or len(self._lines) > MAX_LINES:
            return []
        if statements := self._take_statements(len(self._lines) - 1):
            self._pending_chars, self._retry_at = len(line) + 1, 0
            return statements
        self._remaining -= self._pending_chars
        if self._remaining < 0:
            self._retry_at = self._pending_chars + self._pending_chars // 2
        return []

    def close(self) -> list[Statement]:
        """Return the remaining statements of the block. Leave out a last one that a later block may continue."""
        return self._take_statements(len(self._lines), excluded_last=_MAY_CONTINUE)

    def _take_statements(self, line_count: int, excluded_last: UnionType | None = None) -> list[Statement]:
        """Return the new statements in the first ``line_count`` lines, or [] if CPython cannot parse them."""
        statements = statements_of(self._lines[:line_count], self._taken_lines, excluded_last)
        if len(statements) == 1 and not self._taken_lines and _is_docstring(statements[0]):
            return []
        if statements:
            self._taken_lines = statements[-1].last_line
        return statements


def statements_of(lines: Sequence[str], skip: int = 0, excluded_last: UnionType | None = None) -> list[Statement]:
    """Return the statements in ``lines[skip:]``, or [] if CPython cannot parse these lines.

    The last statement is left out if its type is among ``excluded_last``. A docstring and the statement after it form
    one statement, since a string that runs alone would not be the docstring of the code.
    """
    tree = parse_or_message("\n".join(lines[skip:]))
    body = [] if isinstance(tree, str) else tree.body
    if excluded_last is not None and body and isinstance(body[-1], excluded_last):
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
    tree = parse_or_message(statement.source)
    return not isinstance(tree, str) and len(tree.body) == 1 and ast.get_docstring(tree, clean=False) is not None


def _group_by_line(body: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Return lists of statements. Statements that share a line are in the same list."""
    groups: list[list[ast.stmt]] = []
    for statement in body:
        if groups and groups[-1][-1].end_lineno == statement.lineno:
            groups[-1].append(statement)
        else:
            groups.append([statement])
    return groups


def acts(statement: ast.stmt) -> bool:
    """Return whether a top-level statement may do more than define something.

    An import only defines something. So does a function, class or assignment whose definition calls nothing.
    """
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        annotation = getattr(statement, "annotation", None)
        others = [part for part in ast.iter_child_nodes(statement) if part is not annotation]
        return _calls(annotation) or any(
            isinstance(node, _ACTING_TYPES) for part in others if not _is_harmless(part) for node in ast.walk(part)
        )
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return _calls(statement.args, statement.returns) or _decorator_may_call(statement)
    if isinstance(statement, ast.ClassDef):
        has_hook = any(getattr(inner, "name", None) in _SUBCLASS_HOOKS for inner in statement.body)
        has_metaclass = not all(map(_is_harmless, (keyword.value for keyword in statement.keywords)))
        return (
            has_hook
            or has_metaclass
            or _calls(*statement.bases)
            or _decorator_may_call(statement)
            or any(map(acts, statement.body))
        )
    return not (does_nothing(statement) or isinstance(statement, DEFINITION_TYPES))


def _decorator_may_call(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return whether a decorator may call the function or class."""
    return not all(map(_is_harmless, node.decorator_list))


def _calls(*parts: ast.AST | None) -> bool:
    return any(isinstance(node, ast.Call) for part in parts if part is not None for node in ast.walk(part))


def _is_harmless(node: ast.AST) -> bool:
    """Return whether a node is a constant, one of the ``_HARMLESS_NAMES``, or a harmless call of one of them."""
    if isinstance(node, ast.Call):
        return _is_harmless(node.func) and not _calls(*node.args, *node.keywords)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.expr) and unqualified_name(node) in _HARMLESS_NAMES)


def only_defines(tree: ast.Module) -> bool:
    """Return whether the code consists only of functions, classes, imports, and statements that do nothing."""
    return not any(acts(statement) or isinstance(statement, ast.Assign | ast.AnnAssign) for statement in tree.body)


def does_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is ``pass`` or only a constant, such as a docstring or ``...``."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


# Statements of a reply.

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class StatementBatch:
    """Statements that became certain when the first ``chars`` characters of the reply had arrived."""

    statements: list[Statement]
    chars: int


def chars_to_line(text: str, number: int) -> int:
    """Return the number of characters in the text up to the end of a line, or in the whole text if it has no such line.

    Lines are numbered from 1.
    """
    ends = [end.start() for end in _LINE_END.finditer(text)]
    return ends[number - 1] if number <= len(ends) else len(text)


class GrowingReply:
    """Reads a reply line by line while it arrives in pieces of any size."""

    def __init__(self) -> None:
        self._text = ""
        self._line_begin = self._searched = 0
        self._line_ends: list[int] = []
        self._blocks = 0
        self._prose = ProseScanner()
        self._closing: re.Pattern[str] | None = None
        self._fence_indentation = ""
        self._code_indentation: str | None = None
        self._opening_line: int | None = None
        self._blank_lines: list[str] = []
        """The blank lines at the beginning of the block, which wait until its indentation is known."""
        self._is_done = False
        self._statements = StatementFinder()

    @property
    def code(self) -> str:
        """The part of the plan's code that is certain so far."""
        return self._statements.code

    @property
    def before(self) -> str:
        """The prose before the code, or "" if no block of Python has begun."""
        return self._text[: self._line_ends[self._opening_line - 1]].strip() if self._opening_line else ""

    def chars_to(self, code_line: int) -> int:
        """Return the number of characters in the reply up to the end of a line of ``code``."""
        assert self._opening_line is not None, "no line of code has arrived yet"
        return self._line_ends[self._opening_line + code_line]

    def add(self, piece: str) -> Iterator[StatementBatch]:
        """Add the next piece of the reply, and yield the statements that become certain."""
        self._text += piece
        for line in self._whole_lines():
            if not self._is_done and (statements := self._read_line(line)):
                yield StatementBatch(statements, self._line_begin)

    def _whole_lines(self) -> Iterator[str]:
        r"""Yield the lines that are now complete.

        A last line that ends with \r has to wait: the next character may be a \n that belongs to the same line end.
        """
        while (end := _LINE_END.search(self._text, self._searched)) and not (
            end[0] == "\r" and end.end() == len(self._text)
        ):
            line = self._text[self._line_begin : end.start()]
            self._line_ends.append(end.start())
            self._line_begin = self._searched = end.end()
            yield line
        self._searched = max(self._line_begin, len(self._text) - 1)

    def _read_line(self, line: str) -> list[Statement]:
        if self._opening_line is not None:
            return self._read_code_line(line)
        if self._closing is None:
            self._look_for_block(line)
        elif self._closing.match(line):
            self._closing = None
            self._prose.clear()
        return []

    def _look_for_block(self, line: str) -> None:
        if not (opening := OPENING.match(line)) or self._prose.ends_in_string():
            self._prose.add(line)
            return
        self._fence_indentation, fence, info = opening.groups()
        self._closing = closing_of(fence)
        self._blocks += 1
        if self._blocks > MAX_BLOCKS:
            self._is_done = True
        elif language_of(info) in PYTHON:
            self._opening_line = len(self._line_ends) - 1

    def _read_code_line(self, line: str) -> list[Statement]:
        assert self._closing is not None
        if self._closing.match(line):
            self._is_done = True
            return [] if isinstance(parse_or_message(self.code), str) else self._statements.close()
        line = line.removeprefix(self._fence_indentation)
        if self._code_indentation is None:
            if not line.strip():
                self._blank_lines.append(line)
                return []
            self._code_indentation = indent_of(line)
            for blank in self._blank_lines:
                self._statements.add(blank.removeprefix(self._code_indentation))
        return self._statements.add(line.removeprefix(self._code_indentation))
