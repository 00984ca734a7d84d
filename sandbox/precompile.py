"""Compiling a cell on the host, once: the same procedure runs in thousands of sessions.

The host has parsed and measured plan code by then, under the same caps; a worker takes compiled code from nobody else.
"""

import marshal

from sandbox.caching import cached_up_to
from sandbox.policy import PolicyRefused, compile_cell

MOST_KEPT = 16 << 20
"""Characters of sources and bytes of compiled code that are kept: those of the cells that were run last."""
MAX_CODE = 1 << 20
"""Bytes of compiled code. Python works out constants when it compiles: ``"ab" * 2000`` a thousand times is 4 MB."""


@cached_up_to(MOST_KEPT)
def precompile(source: str, file: str, *, is_part: bool = False) -> str | None:
    """As ``compiled``; a cell that was compiled lately is not compiled again."""
    return compiled(source, file, is_part)


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
