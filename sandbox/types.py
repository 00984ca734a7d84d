"""Limits, faults and results of cells, and the exceptions that the sandbox raises in the host.

A cell is a piece of plan code that runs as a unit, in a worker process. A growing cell is one that is being run in
parts. The host is the process that opens sessions. An error in a plan is a fault: instead of being raised in the host,
it is reported in the result of the cell.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from planbook.sandbox.policy.rules import MAX_SOURCE
from planbook.sandbox.suggest import suggestion


class Limits(BaseModel):
    """Limits on the resources of one cell. The host and the kernel enforce them, if necessary by ending the worker.

    A cell that reaches a limit ends with a fault of the kind LIMIT, and the session continues. Raises pydantic's
    ValidationError for an unknown limit or an invalid value.

    >>> Limits(wall_seconds=2).memory_mb
    256
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall_seconds: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Wall clock time of the plan itself, in seconds. The time in which the host carries out calls does not count."""
    cpu_seconds: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Processor time of the plan in seconds, summed over its threads."""
    memory_mb: int = Field(default=256, ge=16, le=1 << 20)
    """Megabytes of address space that the plan may use in addition to what an idle worker uses."""
    output_chars: int = Field(default=100_000, ge=0)
    """Maximum number of characters that the cell may print."""
    host_calls: int = Field(default=2_000, ge=0)
    """Maximum number of requests to the host: calls to its functions, sleeps, and imports of modules that the worker
    has not loaded.
    """
    source_chars: int = Field(default=MAX_SOURCE, ge=0, le=MAX_SOURCE)
    """Maximum number of characters in the cell's code."""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, limits: object) -> object:
        """If a limit is misspelt, raise an error that names the nearest limit, or all limits if none is near."""
        for name in limits if isinstance(limits, dict) else ():
            if name not in cls.model_fields:
                hint = suggestion(str(name), cls.model_fields) or f"the limits are {', '.join(cls.model_fields)}"
                raise PydanticCustomError("value_error", "{error}", {"error": f"there is no limit `{name}`; {hint}"})
        return limits


class FaultKind(StrEnum):
    """The reason why a cell did not finish."""

    CHECK = "check"
    """The cell was refused before it ran, for example because of its syntax, the language policy or unknown names."""
    RAISED = "raised"
    """The plan raised an exception."""
    LIMIT = "limit"
    """A limit ended the cell and its worker."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a plan, described so that a model or a person can repair it.

    ``str(fault)`` contains the line, type, message, line of code, callers and hint.

    ``line`` and ``column`` are a position in the cell's source. Lines are numbered from 1, and columns from 0.
    ``source`` is the text of that line. ``type`` is the exception's class name, the name of the limit that was reached,
    or the name of the check that failed. If an exception was raised in a function that the cell defines, ``callers``
    are the lines of the calls that led to it, outermost first.
    """

    wording_fields: ClassVar = frozenset({"callers"})
    """Fields that are left out of the digest that identifies a recorded reply. They add no information, since ``line``
    and the code determine them.
    """

    kind: FaultKind
    type: str
    message: str
    line: int | None = None
    column: int | None = None
    source: str = ""
    hint: str = ""
    callers: Annotated[tuple[int, ...], Field(exclude_if=lambda callers: not callers)] = ()

    @property
    def summary(self) -> str:
        """The message and the hint, in one line."""
        return "; ".join(filter(None, (self.message, self.hint)))

    def __str__(self) -> str:
        location = f"line {self.line}: " if self.line else ""
        source = f"\n    {self.source.strip()}" if self.source.strip() else ""
        callers = f"\n  called from line {', from line '.join(map(str, self.callers[::-1]))}" if self.callers else ""
        hint = f"\n  {self.hint}" if self.hint else ""
        return f"{location}{self.type}: {self.message}{source}{callers}{hint}"


@dataclass(frozen=True, slots=True)
class CellResult:
    """The result of one cell. A cell without ``faults`` ran to its end."""

    output: str = ""
    """The text that the cell printed, up to the limit."""
    value: JsonValue = None
    """The value of the expression at the end of the code, or None if there is no such expression.

    If JSON cannot represent the value, it is the value's repr.
    """
    faults: tuple[Fault, ...] = ()
    """All faults for which the cell was refused before it ran, or one for the exception or limit that ended it."""
    host_calls: int = 0
    """Number of calls to the session's functions. Sleeps and imports, which also count towards the limit of the same
    name, are not included.
    """
    seconds: float = 0.0
    """Wall clock time of the plan itself in seconds, excluding the host's work."""

    @property
    def fault(self) -> Fault | None:
        """The first fault, if any."""
        return self.faults[0] if self.faults else None


MAX_REQUEST_BYTES = 16 << 20
"""Maximum total size, in bytes, of the requests of one cell. The cell's other limits do not cover the time in which the
host stores, parses and checks requests.
"""
MAX_RECORD_BYTES = 64 << 20
"""Maximum total size, in bytes, of the requests, answers, output and values that a session records, so that it can run
its cells again in a new worker.
"""
LIMIT_MESSAGES = {
    "wall": "the cell ran for more than {wall_seconds:g} s of wall clock time",
    "cpu": "the cell used more than {cpu_seconds:g} s of processor time",
    "memory": "the plan needed more than {memory_mb} MB of memory",
    "output": "the cell printed more than {output_chars} characters",
    "host_calls": "the cell made more than {host_calls} calls",
    "arguments": f"the arguments of the cell's calls took more than {MAX_REQUEST_BYTES >> 20} MB",
    "kept": f"the calls, answers and output of the session's cells take more than {MAX_RECORD_BYTES >> 20} MB in all",
    "source": "the cell's source has more than {source_chars} characters",
    "sleep": "the cell slept for more than {wall_seconds:g} s in all",
    "crashed": "the worker ended by itself: the plan exhausted the stack or crashed the interpreter",
    "protocol": "the worker was ended because it broke the protocol",
}
"""Maps the ``type`` of each fault of the kind LIMIT to the fault's message."""
_ENDLESS_HINT = "look for a loop that never ends, or for work that takes too long"
LIMIT_HINTS = {
    "wall": _ENDLESS_HINT,
    "cpu": _ENDLESS_HINT,
    "memory": "keep less at a time: take values one by one instead of building a large list or string",
    "output": "print less, or print only what is needed",
    "host_calls": "look for a loop that makes calls without end",
    "arguments": "pass shorter arguments, or make fewer calls",
    "kept": "ask for less at a time, and pass shorter arguments",
    "source": "write a shorter plan, in several steps",
    "sleep": "do not sleep, or sleep for less time in all",
}
MAX_DETAIL = 300
"""Maximum number of characters of a worker's text that a fault quotes, since faults appear in prompts and logs."""


class LimitReached(Exception):
    """The cell must end now. ``name`` is a key of LIMIT_MESSAGES. ``detail`` is added to the message."""

    def __init__(self, name: str, detail: str = "") -> None:
        self.name, self.detail = name, detail
        super().__init__(name, detail)


def limit_fault(name: str, limits: Limits, detail: str = "") -> Fault:
    """Return the fault for a limit that was reached. ``detail`` is added to the message in parentheses."""
    message = LIMIT_MESSAGES[name].format_map(limits.model_dump())
    message += f" ({detail[:MAX_DETAIL]})" if detail else ""
    return Fault(FaultKind.LIMIT, name, message, hint=LIMIT_HINTS.get(name, ""))


class SandboxError(Exception):
    """The base class of this package's errors. ``Session.run`` does not catch one that a host function raises."""


class BadFunction(SandboxError):
    """A function, value or attribute cannot be offered to plans. The message names it and says why."""


class BadAnswer(SandboxError):
    """The result of a host function, or the value of an attribute, is not JSON or is too large."""


class MissingMechanism(SandboxError):
    """The kernel does not grant a security mechanism that the sandbox requires."""


class WorkerFailed(SandboxError):
    """No worker can be started, or the workers do not behave as they should on this machine."""


class WorkersKilled(SandboxError):
    """Several workers in a row were killed from outside at the same place in a cell. No plan can cause this."""


class RebuildDiverged(SandboxError):
    """A session could not be rebuilt in a new worker: in its second run, a cell made different calls, or had a
    different output or value.
    """


class SessionBusy(SandboxError):
    """A session was used while one of its cells was running or growing, or a growing cell after its end."""


class SandboxClosed(SandboxError):
    """The session or its sandbox is closed."""
