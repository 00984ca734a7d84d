"""The exceptions that the sandbox raises in the host, the process that opens sessions.

Faults of plans are not raised: the result of a cell, a piece of plan code that is run as a unit, contains them. A cell
is called growing while it is run in parts. Workers are the processes in which plan code runs.

SandboxError
├── BadFunction        a function, value or attribute that cannot be offered to a plan
├── BadAnswer          a host function or an attribute returned something that is not JSON
├── MissingMechanism   the kernel does not grant a security mechanism that the sandbox requires
├── WorkerFailed       the worker's processes cannot be started, or do not behave as they should
├── WorkersKilled      the workers of one cell were repeatedly killed from outside
├── RebuildDiverged    a cell that was run again in a new worker behaved differently from its first run
├── SessionBusy        a session was used during one of its cells, or a growing cell was used after its end
└── SandboxClosed      the session or its sandbox is closed
"""


class SandboxError(Exception):
    """Base of this package's errors. If a host function raises one, it passes through ``Session.run``."""


class BadFunction(SandboxError):
    """A function, value or attribute that cannot be offered to a plan; the message says which and why."""


class BadAnswer(SandboxError):
    """A host function or an attribute returned something that is not JSON, or too much of it."""


class MissingMechanism(SandboxError):
    """The kernel does not grant a security mechanism that the sandbox requires."""


class WorkerFailed(SandboxError):
    """The worker's processes cannot be started, or do not behave as they should on this machine."""


class WorkersKilled(SandboxError):
    """The workers of one cell were repeatedly killed from outside, without progress. No plan can cause this."""


class RebuildDiverged(SandboxError):
    """A cell that was run again in a new worker differed from its first run in its calls, its output or its value."""


class SessionBusy(SandboxError):
    """A session was used while one of its cells was running or growing, or a growing cell was used after its end."""


class SandboxClosed(SandboxError):
    """The session or its sandbox is closed."""
