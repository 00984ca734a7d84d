r"""Markdown cut into lines and code fences, exactly: the pieces put together again are the text.

Only ``\n`` ends a line here; a ``\r`` or any other control character is part of its line, so that nothing is changed.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPENING = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")


class Piece(NamedTuple):
    """A line, or a whole fence with its two marks. ``number`` counts lines from 1; ``info`` is None for a line."""

    number: int
    lines: tuple[str, ...]
    info: str | None = None

    @property
    def text(self) -> str:
        """The piece as it stands, without the last line end."""
        return "\n".join(self.lines)

    @property
    def body(self) -> str:
        """What stands between the marks of a fence."""
        return "\n".join(self.lines[1:-1])


def pieces(text: str) -> Iterator[Piece]:
    """The pieces of a text. Raises ValueError for a fence that is never closed."""
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
    """Backticks that nothing in the text can close, wherever it breaks its lines."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


def heading_level(line: str) -> int:
    """How many ``#`` make the line a heading, 0 for any other line."""
    found = _HEADING.match(line)
    return len(found[1]) if found else 0


def _opening(line: str) -> re.Match[str] | None:
    """The marks of a fence that begins here; after backticks there can be no others on the line."""
    found = _OPENING.fullmatch(line)
    return None if found is None or (found["fence"][0] == "`" and "`" in found["info"]) else found


def _length(lines: list[str], place: int, fence: str) -> int:
    closing = re.compile(rf"[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t\r]*")
    for end in range(place + 1, len(lines)):
        if closing.fullmatch(lines[end]):
            return end - place + 1
    raise ValueError(f"line {place + 1}: the code fence {lines[place].strip()!r} is never closed")
