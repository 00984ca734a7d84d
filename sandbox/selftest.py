"""The check at start-up that a worker does on this machine what it should: fail loudly here, not in a plan."""

import sys
from collections.abc import Callable

from planbook.sandbox.errors import WorkerFailed
from planbook.sandbox.session import Session
from planbook.sandbox.types import CellResult

CELLS: tuple[tuple[str, Callable[[CellResult], object], object], ...] = (
    ("total = 0\nfor n in range(10):\n    total = total + n * n\ntotal", lambda cell: cell.value, 285),
    ("[echo('a', times=2), total]", lambda cell: cell.value, ["aa", 285]),
    ("print('said', end='!')", lambda cell: cell.output, "said!"),
    ("echo(1)", lambda cell: cell.fault and cell.fault.type, "TypeError"),
    ("total.nothing", lambda cell: cell.fault and (cell.fault.type, cell.fault.line), ("AttributeError", 1)),
)
"""Code, what to look at, and what it must be."""
REFUSED = "import os\nos.getcwd()"
"""What the language layer must not let through."""


def self_test(open_session: Callable[..., Session], *, guarded: bool) -> None:
    """Run a few cells. Raises WorkerFailed, and what opening a session raises.

    That the kernel refuses what it should is seen by each worker as it is locked (``lockdown.confine``).
    """
    with open_session({"echo": _echo}) as session:
        for code, look, expected in CELLS:
            result = session.run(code, "self-test")
            if look(result) != expected:
                _fail(code, expected, result)
        if guarded and (result := session.run(REFUSED, "self-test")).fault is None:
            _fail(REFUSED, "a refusal", result)


def _echo(text: str, times: int = 1) -> str:
    return text * times


def _fail(code: str, expected: object, result: CellResult) -> None:
    raise WorkerFailed(
        f"the worker fails its self-test under Python {sys.version}: {code!r} should give {expected!r}, not {result}"
    )
