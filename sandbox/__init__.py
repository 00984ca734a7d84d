"""Reads, checks and runs plan code. It knows nothing of environments or planners.

From a model's reply to a result: ``reading`` finds the code; ``check`` tells what is wrong with it (by ``policy``,
what plans may say), ``dry`` what cannot succeed. On the host, ``host`` opens a ``session`` with ``functions`` and
``opening``; ``precompile`` compiles each cell. A ``cell`` is a conversation, whose requests ``answers`` carries out
within ``limits``, with sources from the ``library``; ``messages`` trusts none of them. ``protocol`` is the wire; at its
other end are the ``zygote`` and the processes of ``worker``, which are the boundary. ``rerun`` and ``losses`` bring
back a session whose worker was lost.
"""

if __name__ == "sandbox":
    raise ImportError("sandbox is a package of planbook: import planbook.sandbox", name="sandbox")

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planbook.sandbox.errors import (
        BadAnswer,
        BadFunction,
        MissingMechanism,
        RebuildDiverged,
        SandboxClosed,
        SandboxError,
        SessionBusy,
        WorkerFailed,
        WorkersKilled,
    )
    from planbook.sandbox.functions import FunctionSpec
    from planbook.sandbox.host import Sandbox
    from planbook.sandbox.mechanisms import Mechanism
    from planbook.sandbox.session import GrowingCell, Session
    from planbook.sandbox.types import CellResult, Fault, FaultKind, Limits

__all__ = [
    "BadAnswer",
    "BadFunction",
    "CellResult",
    "Fault",
    "FaultKind",
    "FunctionSpec",
    "GrowingCell",
    "Limits",
    "Mechanism",
    "MissingMechanism",
    "RebuildDiverged",
    "Sandbox",
    "SandboxClosed",
    "SandboxError",
    "Session",
    "SessionBusy",
    "WorkerFailed",
    "WorkersKilled",
]

_MODULES = {
    "errors": (
        "BadAnswer",
        "BadFunction",
        "MissingMechanism",
        "RebuildDiverged",
        "SandboxClosed",
        "SandboxError",
        "SessionBusy",
        "WorkerFailed",
        "WorkersKilled",
    ),
    "functions": ("FunctionSpec",),
    "host": ("Sandbox",),
    "mechanisms": ("Mechanism",),
    "session": ("GrowingCell", "Session"),
    "types": ("CellResult", "Fault", "FaultKind", "Limits"),
}
"""Module to the names that are read from here: each is imported when one of them is wanted."""


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
