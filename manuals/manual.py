"""The structure of a manual: sections with prose and the ids of rules. The rules themselves are stored elsewhere.

``pieces`` splits Markdown into lines and fenced code blocks without losing anything. Only ``\\n`` ends a line. A
``\\r`` or another control character is part of the line.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, NamedTuple

from markdown_it import MarkdownIt
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

_OPENING = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")


class Piece(NamedTuple):
    """A line of Markdown, or a whole fenced code block with its opening and closing lines.

    ``number`` is the number of the first line, from 1. ``info`` is the info string of a code block (the text after the
    opening fence), or None for a line.
    """

    number: int
    lines: tuple[str, ...]
    info: str | None = None

    @property
    def text(self) -> str:
        """The text of the piece, without the line ending of its last line."""
        return "\n".join(self.lines)

    @property
    def body(self) -> str:
        """The text between the opening and closing lines of a fenced code block."""
        return "\n".join(self.lines[1:-1])


def pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a text. Raises ValueError if a code fence is not closed."""
    lines = text.split("\n")
    start = 0
    while start < len(lines):
        length, info = 1, None
        if opening := _match_opening(lines[start]):
            info = opening["info"].strip()
            length = _fence_length(lines, start, opening["fence"])
        yield Piece(start + 1, tuple(lines[start : start + length]), info)
        start += length


def heading_level(line: str) -> int:
    """Return the number of ``#`` at the beginning of a heading, or 0 for any other line."""
    match = _HEADING.match(line)
    return len(match[1]) if match else 0


def _match_opening(line: str) -> re.Match[str] | None:
    """Match the opening line of a fenced code block. After a fence of backticks, it must have no other backtick."""
    match = _OPENING.fullmatch(line)
    return None if match is None or (match["fence"][0] == "`" and "`" in match["info"]) else match


def _fence_length(lines: list[str], start: int, fence: str) -> int:
    closing = re.compile(rf"[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t\r]*")
    for end in range(start + 1, len(lines)):
        if closing.fullmatch(lines[end]):
            return end - start + 1
    raise ValueError(f"line {start + 1}: the code fence {lines[start].strip()!r} is never closed")


LEFT_OUT = "[left out for length]"
"""Marks a gap in a shortened manual. In a complete manual, no line ends with it, except in code."""

_READER = MarkdownIt("commonmark")


def _title(text: str) -> str:
    """Return the text as one line. Raises ValueError if it is empty."""
    if not (title := " ".join(text.split())):
        raise ValueError("a title is empty")
    return title


def _prose(text: str) -> str:
    """Return the prose with Unix line endings. Raises ValueError if a manual that contains it cannot be read back."""
    prose = re.sub("\r\n?", "\n", text).strip()
    for piece in pieces(prose):
        if piece.info is None and heading_level(piece.text) in (1, 2, 3):
            raise ValueError(
                f"prose contains the heading {piece.text.strip()!r}; headings in prose begin with #### or more"
            )
        if piece.info is None and piece.text.rstrip().endswith(LEFT_OUT):
            raise ValueError(f"prose contains a line that ends with {LEFT_OUT}, which marks what was left out")
    if not _is_closed(prose):
        raise ValueError(f"a code fence or an HTML comment is left open in the prose that begins {prose[:40]!r}")
    return prose


def _is_closed(prose: str) -> bool:
    """Return True if the prose leaves no fence or HTML block open, according to a full Markdown parser.

    That parser's rules for fences differ from those of ``pieces``. It must see a heading that follows the prose.
    """
    heading = _READER.parse(f"{prose}\n\n### after\n")[-3:]
    return heading[0].tag == "h3" and heading[0].level == 0


Title = Annotated[str, AfterValidator(_title)]
Prose = Annotated[str, AfterValidator(_prose)]
"""Markdown without unclosed blocks, and without headings of the first three levels, which structure the manual."""


class Section(BaseModel):
    """Rules that belong together. ``introduction`` sums up what they have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title
    introduction: Prose = ""
    rule_ids: tuple[str, ...] = ()


class Manual(BaseModel):
    """The title, overview and sections of a manual. The sections lead from easy to difficult."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title
    overview: Prose = ""
    sections: tuple[Section, ...] = ()

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """The rule ids in the sections, in reading order."""
        return tuple(id for section in self.sections for id in section.rule_ids)


def placement_faults(manual: Manual, ids: Iterable[str]) -> list[str]:
    """Return the reasons why the sections do not name each of these rules exactly once, or [] if they do."""
    all_ids, named = list(ids), Counter(manual.rule_ids)
    faults = {
        "in no section": [id for id in all_ids if id not in named],
        "named more than once": [id for id, times in named.items() if times > 1],
        "not among the rules": [id for id in named if id not in all_ids],
    }
    return [f"{fault}: {', '.join(faulty)}" for fault, faulty in faults.items() if faulty]


def error_message(error: ValueError) -> str:
    """Return the message of an error, without what pydantic adds to it."""
    if isinstance(error, ValidationError):
        return error.errors()[0]["msg"].removeprefix("Value error, ")
    return str(error)
