"""Compiling a cell on the host, once: the same procedure runs in thousands of sessions.

The host has parsed and measured plan code by then, under the same caps; a worker takes compiled code from nobody else.
"""

import base64
import marshal
from functools import lru_cache

from sandbox.policy import PolicyRefused, compile_cell

KEPT = 256
"""Cells whose compiled code is kept: some 20 kB each."""


@lru_cache(maxsize=KEPT)
def precompile(source: str, file: str, *, is_part: bool = False) -> str | None:
    """The cell's code and final expression, for ``worker.language.load_cell``; None for what the policy refuses.

    Such a cell goes to the worker as it is, which says what is wrong with it.
    """
    try:
        cell = compile_cell(source, file, is_part=is_part)
    except PolicyRefused:
        return None
    return base64.b64encode(marshal.dumps((cell.code, cell.tail))).decode("ascii")
