"""Splits Markdown exactly into lines and code fences: the pieces joined are the text.

Only ``\n`` ends a line here; a ``\r`` or other control character is part of its line, so nothing is changed.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPENING = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")


class Piece(NamedTuple):
    """A line, or a whole fence with both marks. ``number`` counts lines from 1; ``info`` is None for a line."""

    number: int
    lines: tuple[str, ...]
    info: str | None = None

    @property
    def text(self) -> str:
        """The piece without its last line end."""
        return "\n".join(self.lines)

    @property
    def body(self) -> str:
        """The text between the marks of a fence."""
        return "\n".join(self.lines[1:-1])


def pieces(text: str) -> Iterator[Piece]:
    """Return the pieces of a text. Raises ValueError for an unclosed fence."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        length, info = 1, None
        if opening := _opening(lines[place]):
            info = opening["info"].strip()
            length = _length(lines, place, opening["fence"])
        yield Piece(place + 1, tuple(lines[place : place + length]), info)
        place += length


def fence_for(text: str) -> str:
    """Return backticks that nothing in the text can close, however its lines are broken."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


def heading_level(line: str) -> int:
    """Return the number of ``#`` of a heading, 0 for any other line."""
    found = _HEADING.match(line)
    return len(found[1]) if found else 0


def _opening(line: str) -> re.Match[str] | None:
    """Return the marks of a fence that begins here. After backticks, the line has no further backticks."""
    found = _OPENING.fullmatch(line)
    return None if found is None or (found["fence"][0] == "`" and "`" in found["info"]) else found


def _length(lines: list[str], place: int, fence: str) -> int:
    closing = re.compile(rf"[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t\r]*")
    for end in range(place + 1, len(lines)):
        if closing.fullmatch(lines[end]):
            return end - place + 1
    raise ValueError(f"line {place + 1}: the code fence {lines[place].strip()!r} is never closed")
