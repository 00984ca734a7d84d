"""Reads, checks and runs plan code. It knows nothing of environments or planners.

From a model's reply to a result: ``reading`` finds the code; ``check`` tells what is wrong with it (by ``policy``,
what plans may say), ``dry`` what cannot succeed. On the host, ``host`` opens a ``session`` with ``functions`` and
``opening``; ``precompile`` compiles each cell. A ``cell`` is a conversation, whose requests ``answers`` carries out
within ``limits``, with sources from the ``library``; ``messages`` trusts none of them. ``protocol`` is the wire; at its
other end are the ``zygote`` and the processes of ``worker``, which are the boundary. ``rerun`` and ``losses`` bring
back a session whose worker was lost.
"""

from sandbox.errors import (
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
from sandbox.functions import FunctionSpec
from sandbox.host import Sandbox
from sandbox.mechanisms import Mechanism
from sandbox.session import GrowingCell, Session
from sandbox.types import CellResult, Fault, FaultKind, Limits

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
