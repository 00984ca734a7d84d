"""Makes the blocks of a page as JSON: paragraphs, tables, lists, code and so on.

``viewer/page.js`` draws them. A line of text is a string, or a list of parts. A part is a string, or a text in an HTML
element.
"""

from collections.abc import Iterable, Sequence
from typing import Any

Part = str | dict[str, str]
Line = str | Sequence[Part]
Block = dict[str, Any]
MAX_LINKS = 24
"""Default maximum number of links in a line."""


def marked(tag: str, text: str, css_class: str = "") -> Part:
    """Return a part in an HTML element. ``tag`` is the element: b, small, code or span."""
    return {"tag": tag, "text": text, "class": css_class}


def bold(text: str) -> Part:
    """Return an emphasized part."""
    return marked("b", text)


def link(text: str, anchor: str) -> Part:
    """Return a link to a place on the page."""
    return {"tag": "a", "text": text, "to": anchor}


def links(pairs: Sequence[tuple[str, str]], limit: int = MAX_LINKS) -> list[Part]:
    """Return links, separated by commas, for pairs of a text and an anchor.

    If there are more than ``limit``, the number of the remaining links follows: " and 3 more".
    """
    parts: list[Part] = []
    for text, anchor in pairs[:limit]:
        parts += [", ", link(text, anchor)] if parts else [link(text, anchor)]
    return parts if len(pairs) <= limit else [*parts, f" and {len(pairs) - limit:,} more"]


def paragraph(line: Line, css_class: str = "") -> Block:
    """Return a paragraph."""
    return {"block": "p", "line": line, "class": css_class}


def heading(text: str) -> Block:
    """Return a heading inside a section."""
    return {"block": "h", "line": text}


def table(head: Sequence[str], rows: Iterable[Sequence[Line]], css_class: str = "", *, total: bool = False) -> Block:
    """Return a table. The first column names the rows. If ``total`` is true, the last row holds the totals."""
    return {"block": "table", "head": list(head), "rows": list(rows), "class": css_class, "total": total}


def bullets(lines: Iterable[Line], css_class: str = "") -> Block:
    """Return a list."""
    return {"block": "list", "lines": list(lines), "class": css_class}


def pairs(rows: Iterable[tuple[str, str]]) -> Block:
    """Return a list of names with their values."""
    return {"block": "pairs", "rows": list(rows)}


def facts(rows: Iterable[tuple[str, Line, Line]]) -> Block:
    """Return key figures. Each row has a name, the figure, and a remark."""
    return {"block": "facts", "rows": list(rows)}


def details(line: Line, blocks: Iterable[Block], css_class: str = "", *, is_open: bool = False) -> Block:
    """Return blocks that are hidden until the line above them is clicked."""
    return {"block": "more", "line": line, "blocks": list(blocks), "class": css_class, "open": is_open}


def group(blocks: Iterable[Block], css_class: str) -> Block:
    """Return blocks that are shown as a group."""
    return {"block": "group", "blocks": list(blocks), "class": css_class}


def pre(text: str, css_class: str = "") -> Block:
    """Return preformatted text."""
    return {"block": "pre", "text": text, "class": css_class}


def code(text: str) -> Block:
    """Return plan code."""
    return {"block": "code", "text": text.rstrip("\n")}


def section(title: str, css_class: str, blocks: Iterable[Block]) -> Block:
    """Return a section about a run."""
    return {"title": title, "class": css_class, "blocks": list(blocks)}
