"""The manual as a value: prose in sections, and the assignment of rules to sections. Rules stay as they are."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated

from markdown_it import MarkdownIt
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from planbook.manuals.pieces import heading_level, pieces

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
