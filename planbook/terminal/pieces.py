"""The pieces that an episode is printed in: harmless text, folded to its first lines, at some depth."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from planbook.wording import counted, harmless

FIRST_LINES, FIRST_CHARS = 4, 400
"""How much is shown of what is folded."""
DEEPER = 2
"""Columns."""
DIM, GOOD, BAD, NOTE = "dim", "green", "red", "yellow"


class Piece(NamedTuple):
    """Something to print; ``depth`` counts the sub-tasks and rounds around it."""

    what: RenderableType
    depth: int = 0


def deeper(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same, one deeper."""
    return (Piece(what, depth + 1) for what, depth in pieces)


def indented(piece: Piece) -> RenderableType:
    """As it is printed."""
    return Padding(piece.what, (0, 0, 0, DEEPER * piece.depth), expand=False) if piece.depth else piece.what


def text(content: str, style: str = "") -> Text:
    """Text of a model or a world: nothing in it steers the terminal, and nothing in it is markup."""
    return Text(harmless(content), style=style, overflow="fold")


def folded(content: str, style: str = "", lines: int = FIRST_LINES) -> Text:
    """The first lines, and how much is left out."""
    content = content.strip()
    shown = "\n".join(content.splitlines()[:lines])[:FIRST_CHARS].rstrip()
    left = len(content) - len(shown)
    return text(shown, style).append(f" ... {counted(left, 'character')} more" if left else "", style=DIM)


def titled(title: str, content: Text, style: str = DIM) -> Text:
    """Text after what it is."""
    return Text(overflow="fold").append(f"{harmless(title)}: ", style=style).append_text(content)
