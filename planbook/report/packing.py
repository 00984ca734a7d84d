"""What a page holds and does not show at first: compressed, in blocks that its script inflates when they are asked for.

A page of a thousand episodes opens fast, since a browser has nothing to lay out but their first lines.
"""

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

CHUNK = 200_000
"""Characters of texts that are packed together: enough to be packed well, few enough to be inflated at once."""


@dataclass(frozen=True)
class Block:
    """A packed part of the page: ``name`` is the anchor of what it is the inside of, or the first of its texts."""

    name: str
    data: str


def packed(text: str) -> str:
    """Compressed (zlib), as base64: what ``inflated`` of the page's script takes."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 9)).decode("ascii")


class Texts:
    """The long texts of a page, each kept once however many episodes show it, in chunks by their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._open: list[str] = []
        self._open_size = 0
        self._chunks: list[Block] = []

    def keep(self, text: str) -> int:
        """The text's number, from 0 in the order in which they come."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest not in self._numbers:
            self._numbers[digest] = len(self._numbers)
            self._open.append(text)
            self._open_size += len(text)
            if self._open_size >= CHUNK:
                self._close()
        return self._numbers[digest]

    def chunks(self) -> Iterator[Block]:
        """All of them, named by the number of their first text."""
        self._close()
        yield from self._chunks

    @property
    def size(self) -> int:
        """Characters of the chunks that are full."""
        return sum(len(chunk.data) for chunk in self._chunks)

    def _close(self) -> None:
        if self._open:
            first = len(self._numbers) - len(self._open)
            self._chunks.append(Block(str(first), packed(json.dumps(self._open))))
            self._open, self._open_size = [], 0
