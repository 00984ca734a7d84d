"""Tables of snippets: files whose sections each begin with a line ``### TITLE``."""

from collections.abc import Iterator
from pathlib import Path


def sections(file: Path) -> Iterator[tuple[str, str]]:
    """The title of each section, and the lines below it."""
    for section in file.read_text(encoding="utf-8").split("### ")[1:]:
        title, _, body = section.partition("\n")
        yield title, body
