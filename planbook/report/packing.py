"""The packed part of a page: compressed chunks, which its script inflates when they are asked for.

A page of a thousand episodes opens fast, since a browser has nothing to lay out but their rows.
"""

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from planbook.wording import harmless

CHUNK = 200_000
"""Characters of JSON that are packed together: enough to be packed well, few enough to be inflated at once."""
TEXT = "\x01"
"""The name under which the number of a text stands; no other name can be the same once all is ``visible``."""
LONG_TEXT = 400
"""Texts from this length on are kept apart, each once however many episodes show it."""


@dataclass(frozen=True)
class Chunk:
    """Packed items; ``first`` is the number of the first of them."""

    first: int
    data: str


def packed(text: str) -> str:
    """Return a text compressed (zlib), as base64."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 9)).decode("ascii")


def visible(value: Any) -> Any:
    """Return JSON in which every character of every text can be seen."""
    if isinstance(value, str):
        return value if value.replace("\n", "").replace("\t", "").isprintable() else harmless(value)
    if isinstance(value, dict):
        return {visible(name): visible(each) for name, each in value.items()}
    return [visible(each) for each in value] if isinstance(value, (list, tuple)) else value


class Items:
    """JSON values by number, in chunks."""

    def __init__(self) -> None:
        self.size = 0
        """Characters of the chunks that are full."""
        self._chunks: list[Chunk] = []
        self._open: list[str] = []
        self._open_size = self._count = 0

    def add(self, value: Any) -> int:
        """Add a value, and return its number."""
        self._open.append(json.dumps(value, separators=(",", ":")))
        self._open_size += len(self._open[-1])
        self._count += 1
        if self._open_size >= CHUNK:
            self._close()
        return self._count - 1

    def chunks(self) -> Iterator[Chunk]:
        """Give all of them."""
        if self._open:
            self._close()
        yield from self._chunks

    def _close(self) -> None:
        self._chunks.append(Chunk(self._count - len(self._open), packed(f"[{','.join(self._open)}]")))
        self.size += len(self._chunks[-1].data)
        self._open, self._open_size = [], 0


class LongTexts(Items):
    """The long texts of a page, each kept once."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[bytes, int] = {}

    def keep(self, text: str) -> int:
        """Return the text's number, from 0 in the order in which they come."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest not in self._numbers:
            self._numbers[digest] = self.add(text)
        return self._numbers[digest]

    def without(self, value: Any) -> Any:
        """Return JSON with every long text replaced by its number, under ``TEXT``."""
        if isinstance(value, str):
            return value if len(value) < LONG_TEXT else {TEXT: self.keep(value)}
        if isinstance(value, dict):
            return {name: self.without(each) for name, each in value.items()}
        return [self.without(each) for each in value] if isinstance(value, list) else value
