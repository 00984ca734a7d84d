"""Compiling a cell on the host, once: the same procedure runs in thousands of sessions.

The host has parsed and measured plan code by then, under the same caps; a worker takes compiled code from nobody else.
"""

import marshal
from threading import Lock

from sandbox.policy import PolicyRefused, compile_cell

MOST_KEPT = 16 << 20
"""Characters of sources and bytes of compiled code that are kept: those of the cells that were run last."""
MAX_CODE = 1 << 20
"""Bytes of compiled code. Python works out constants when it compiles: ``"ab" * 2000`` a thousand times is 4 MB."""


_Key = tuple[str, str, bool]


class _Kept:
    """Compiled cells, of which those that were used last are kept, up to a size."""

    def __init__(self) -> None:
        self._found: dict[_Key, str | None] = {}
        self._size, self._lock = 0, Lock()

    def get(self, key: _Key) -> str | None:
        """Return the compiled cell, from what is kept or made anew."""
        with self._lock:
            found = self._found.pop(key, "")
            if found != "":
                self._found[key] = found
                return found
        made = compiled(*key)
        with self._lock:
            self._size += _size(key, made) if key not in self._found else 0
            self._found[key] = made
            while self._size > MOST_KEPT:
                oldest = next(iter(self._found))
                self._size -= _size(oldest, self._found.pop(oldest))
        return made


def _size(key: _Key, made: str | None) -> int:
    return len(key[0]) + len(made or "") + 1000


_KEPT = _Kept()


def precompile(source: str, file: str, *, is_part: bool = False) -> str | None:
    """As ``compiled``; a cell that was compiled lately is not compiled again."""
    return _KEPT.get((source, file, is_part))


def compiled(source: str, file: str, is_part: bool = False) -> str | None:
    """The cell's code and final expression, marshalled, a character a byte; None for what the policy refuses.

    Such a cell goes to the worker as it is, which says what is wrong with it; so does one that compiles to too much.
    """
    try:
        cell = compile_cell(source, file, is_part=is_part)
    except PolicyRefused:
        return None
    code = marshal.dumps((cell.code, cell.tail))
    return code.decode("latin-1") if len(code) <= MAX_CODE else None
