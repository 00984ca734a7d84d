"""Everything the planner package raises.

PlannerError
├── BadProcedure     a procedure file that cannot be read or does not pass the check
├── UnknownStrategy  no planning method of that name
└── WrongMark        a rewind to a mark of another frame

BaseException: these unwind the host's stack through nested plans, which cannot catch them
├── EpisodeOver      the episode ended
├── EpisodeBroken    the world or the engine failed: counted BROKEN
├── EpisodeStopped   the user stopped the run: the episode is resumed later
├── JournalMismatch  what happens now differs from what was recorded
└── JournalFailed    an event could not be written: the run cannot go on
"""

from pydantic import JsonValue


class PlannerError(Exception):
    """Base of this package's errors."""


class BadProcedure(PlannerError):
    """A procedure file that cannot be read or does not pass the check."""


class UnknownStrategy(PlannerError):
    """No planning method of that name."""


class WrongMark(PlannerError):
    """A rewind to a mark of another frame."""


class EpisodeOver(BaseException):
    """The episode ended while a cell was running."""


class EpisodeBroken(BaseException):
    """The world or the engine failed while a cell was running."""


class EpisodeStopped(BaseException):
    """The user stopped the run while a cell was running."""


class JournalFailed(BaseException):
    """An event could not be written; the cause is what the store raised."""


class JournalMismatch(BaseException):
    """What happens now differs from what was recorded; both bodies are kept for the report."""

    def __init__(self, scope: str, kind: str, number: int, recorded: JsonValue, actual: JsonValue) -> None:
        self.scope, self.kind, self.number, self.recorded, self.actual = scope, kind, number, recorded, actual
        super().__init__(f"{scope}: {kind} {number} was recorded as {recorded!r}, but is now {actual!r}")
