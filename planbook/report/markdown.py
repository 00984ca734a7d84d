"""Markdown that models wrote, as HTML in which nothing can be followed or run."""

from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

from planbook.wording import harmless

INERT = ("link", "autolink", "image", "html_inline", "html_block", "reference")
"""Left out of the language: where they stand they are shown as they are written."""
BELOW, LOWEST = 3, 6
"""How far headings go down, as they stand below those of the page; and how far that can go."""


def as_html(text: str) -> Markup:
    """The text as a part of the page."""
    tokens = _reader().parse(harmless(text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + BELOW, LOWEST)}"
    reader = _reader()
    return Markup(reader.renderer.render(tokens, reader.options, {}))


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(list(INERT))
