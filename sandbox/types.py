"""The sandbox's vocabulary: what goes into a session, and what comes out of running a cell."""

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from planbook.sandbox.policy.tables import MAX_SOURCE


class Limits(BaseModel):
    """What one cell may use. Every limit is enforced on the host, by ending the worker where it must be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall_seconds: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Wall clock of the plan itself; it stops while the host works on a call."""
    cpu_seconds: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    memory_mb: int = Field(default=256, ge=16, le=1 << 20)
    """Address space that the session may add to an idle worker's."""
    output_chars: int = Field(default=100_000, ge=0)
    host_calls: int = Field(default=2_000, ge=0)
    source_chars: int = Field(default=MAX_SOURCE, ge=0, le=MAX_SOURCE)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: object) -> object:
        """Say which limits there are, in words of our own."""
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                near = get_close_matches(str(name), cls.model_fields, n=1)
                meant = f"`{near[0]}` is nearest" if near else f"there are {', '.join(cls.model_fields)}"
                raise PydanticCustomError("value_error", "{error}", {"error": f"there is no limit `{name}`; {meant}"})
        return given


class FaultKind(StrEnum):
    """Why a cell did not finish."""

    CHECK = "check"
    """Refused before running: syntax, policy, unknown names."""
    RAISED = "raised"
    """The plan raised an exception."""
    LIMIT = "limit"
    """A limit ended the cell, and its worker with it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a plan, told so that a model or a person can repair it.

    ``line`` and ``column`` count from 1 and 0, in the cell's own source; ``source`` is that line's text. ``type`` is
    the exception's class name, the limit's name, or the name of the check. ``callers`` are the lines of the calls that
    led to it, the outermost first, where it was raised in a function of the cell.
    """

    worded: ClassVar = frozenset({"callers"})
    """Fields that say in other words what ``line`` and the code say."""

    kind: FaultKind
    type: str
    message: str
    line: int | None = None
    column: int | None = None
    source: str = ""
    hint: str = ""
    callers: Annotated[tuple[int, ...], Field(exclude_if=lambda callers: not callers)] = ()

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        shown = f"\n    {self.source.strip()}" if self.source.strip() else ""
        called = f"\n  called from line {', from line '.join(map(str, self.callers[::-1]))}" if self.callers else ""
        hint = f"\n  {self.hint}" if self.hint else ""
        return f"{where}{self.type}: {self.message}{shown}{called}{hint}"


@dataclass(frozen=True, slots=True)
class CellResult:
    """What running one cell gave. ``value`` is that of a final expression, as JSON where it can be, else its repr."""

    output: str = ""
    value: JsonValue = None
    faults: tuple[Fault, ...] = ()
    host_calls: int = 0
    seconds: float = 0.0
    """Wall clock of the plan itself, without the host's work."""

    @property
    def fault(self) -> Fault | None:
        """The first fault, if any."""
        return self.faults[0] if self.faults else None
