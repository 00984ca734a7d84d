"""Reads, checks and runs plan code without harm. It knows nothing of worlds or planners."""

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
