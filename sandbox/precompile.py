"""Compiling a cell on the host, once: the same procedure runs in thousands of sessions.

The host has parsed and measured plan code by then, under the same caps; a worker takes compiled code from nobody else.
"""

import marshal
from functools import lru_cache

from sandbox.policy import PolicyRefused, compile_cell

KEPT = 256
"""Cells whose compiled code is kept: some 20 kB each."""
MAX_CODE = 1 << 20
"""Bytes of compiled code. Python works out constants when it compiles: ``"ab" * 2000`` a thousand times is 4 MB."""


@lru_cache(maxsize=KEPT)
def precompile(source: str, file: str) -> str | None:
    """The cell's code and final expression, marshalled, a character a byte; None for what the policy refuses.

    Such a cell goes to the worker as it is, which says what is wrong with it; so does one that compiles to too much.
    """
    try:
        cell = compile_cell(source, file)
    except PolicyRefused:
        return None
    code = marshal.dumps((cell.code, cell.tail))
    return code.decode("latin-1") if len(code) <= MAX_CODE else None
