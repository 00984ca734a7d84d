"""A reply that is still being written: the statements of its plan, each as soon as it is certain to belong to it.

Only of the first block marked as Python that is certain early: it begins the plan, whatever follows. Code without such
a mark, what follows the block, and a block whose end is in doubt (a fence inside a string) wait for the reply's end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planbook.sandbox.reading.fences import MAX_BLOCKS, OPENING, PYTHON, closing_of, language_of, margin_of
from planbook.sandbox.reading.statements import Statement, StatementFinder
from planbook.sandbox.reading.syntax import parse_only
from planbook.sandbox.reading.unfenced import Outside

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Arrival:
    """Statements that became certain together, by the first ``chars`` characters of the reply."""

    statements: list[Statement]
    chars: int


def chars_to_line(text: str, number: int) -> int:
    """How many characters there are up to the end of a line, counted from 1; all, if there are no more lines."""
    ends = [end.start() for end in _LINE_END.finditer(text)]
    return ends[number - 1] if number <= len(ends) else len(text)


class GrowingReply:
    """Reads a reply line by line, in whatever pieces it comes."""

    def __init__(self) -> None:
        self._text = ""
        self._begin = self._looked = 0
        self._ends: list[int] = []
        self._blocks = 0
        self._outside = Outside()
        self._closing: re.Pattern[str] | None = None
        self._indent = ""
        self._margin: str | None = None
        self._opened: int | None = None
        self._blank: list[str] = []
        """Lines of the block from before its margin is known."""
        self._done = False
        self._statements = StatementFinder()

    @property
    def code(self) -> str:
        """The lines of the plan's code so far, as far as they are certain."""
        return self._statements.code

    @property
    def before(self) -> str:
        """The prose before the code."""
        return self._text[: self._ends[self._opened - 1]].strip() if self._opened else ""

    def chars_to(self, code_line: int) -> int:
        """How many characters of the reply there are up to the end of a line of ``code``."""
        assert self._opened is not None, "no line of code has come yet"
        return self._ends[self._opened + code_line]

    def add(self, piece: str) -> Iterator[Arrival]:
        """Take in the next piece of the reply."""
        self._text += piece
        for line in self._whole_lines():
            if not self._done and (found := self._take(line)):
                yield Arrival(found, self._begin)

    def _whole_lines(self) -> Iterator[str]:
        r"""The lines that have come whole; after a \r it is not known yet whether \n comes."""
        while (end := _LINE_END.search(self._text, self._looked)) and not (
            end[0] == "\r" and end.end() == len(self._text)
        ):
            line = self._text[self._begin : end.start()]
            self._ends.append(end.start())
            self._begin = self._looked = end.end()
            yield line
        self._looked = max(self._begin, len(self._text) - 1)

    def _take(self, line: str) -> list[Statement]:
        if self._opened is not None:
            return self._take_code(line)
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
            self._opened = len(self._ends) - 1

    def _take_code(self, line: str) -> list[Statement]:
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
