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
