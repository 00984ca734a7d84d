"""The manual as a value: prose in sections, and the assignment of rules to sections. Rules stay as they are.

``pieces`` splits Markdown exactly into lines and code fences. Only ``\\n`` ends a line here; a ``\\r`` or other control
character is part of its line, so nothing is changed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple

from markdown_it import MarkdownIt
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

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


LEFT_OUT = "[left out for length]"
"""Marks a gap in a shortened view; no line of a whole manual ends with it."""

_READER = MarkdownIt("commonmark")


def _title(text: str) -> str:
    """Return the text as one line. Raises ValueError if it is empty."""
    if not (title := " ".join(text.split())):
        raise ValueError("a title is empty")
    return title


def _prose(text: str) -> str:
    """Return the prose with normal line ends. Raises ValueError for text that would be read as something else."""
    prose = re.sub("\r\n?", "\n", text).strip()
    for piece in pieces(prose):
        if piece.info is None and heading_level(piece.text) in (1, 2, 3):
            raise ValueError(f"prose holds the heading {piece.text.strip()!r}; headings there begin with #### or more")
        if piece.info is None and piece.text.rstrip().endswith(LEFT_OUT):
            raise ValueError(f"prose holds a line that ends with {LEFT_OUT}, which stands for what is missing")
    if not _readers_see_what_follows(prose):
        raise ValueError(f"a code fence or an HTML comment is left open in the prose that begins {prose[:40]!r}")
    return prose


def _readers_see_what_follows(prose: str) -> bool:
    """Return whether every Markdown reader sees a heading after the prose; not all agree on our fences."""
    last = _READER.parse(f"{prose}\n\n### after\n")[-3:]
    return last[0].tag == "h3" and last[0].level == 0


Title = Annotated[str, AfterValidator(_title)]
Prose = Annotated[str, AfterValidator(_prose)]
"""Markdown without open blocks and without headings of the first three levels, which are the manual's own."""


class Section(BaseModel):
    """Rules that belong together. ``introduction`` holds what they have in common: key points."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title
    introduction: Prose = ""
    rule_ids: tuple[str, ...] = ()


class Manual(BaseModel):
    """Title, overview and sections, in reading order: from easy to difficult."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title
    overview: Prose = ""
    sections: tuple[Section, ...] = ()

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """The rule ids that sections name, in reading order."""
        return tuple(id for section in self.sections for id in section.rule_ids)


def misplaced(manual: Manual, ids: Iterable[str]) -> list[str]:
    """Return why the sections do not name each of these rules exactly once; empty if they do."""
    known, named = list(ids), Counter(manual.rule_ids)
    faults = {
        "in no section": [id for id in known if id not in named],
        "named more than once": [id for id, times in named.items() if times > 1],
        "not among the rules": [id for id in named if id not in known],
    }
    return [f"{what}: {_listed(which)}" for what, which in faults.items() if which]


def said(error: ValueError) -> str:
    """Return the message of an error without pydantic's frame."""
    if isinstance(error, ValidationError):
        return error.errors()[0]["msg"].removeprefix("Value error, ")
    return str(error)


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids)
