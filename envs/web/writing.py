"""Text of a page, written so that it cannot be taken for anything but text of a page."""

import unicodedata

NAME = 200
"""Characters of a name that are shown."""


def plain(text: str) -> str:
    """On one line, blanks joined, and without characters that cannot be seen or that turn the direction of writing."""
    return " ".join(seen(text).split())


def seen(text: str) -> str:
    """With its lines and blanks, but without those characters: what a field of several lines holds."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each for each in text if each.isspace() or unicodedata.category(each) not in ("Cf", "Cc", "Co", "Cs")
    )


def cut(text: str, most: int) -> str:
    """The text, or its beginning with how much is left out."""
    return text if len(text) <= most else f"{text[:most].rstrip()}... (+{len(text) - most} characters)"


def quoted(text: str, most: int = NAME) -> str:
    """In quotes, on one line, at most so long: a name with quotes or brackets in it cannot begin a line of its own."""
    return repr(cut(plain(text), most))
