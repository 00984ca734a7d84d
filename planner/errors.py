"""The exceptions of the planner package.

PlannerError
├── BadProcedure     a procedure file that cannot be read or does not pass the check
├── UnknownStrategy  no planning method has that name, or it cannot be loaded
├── WrongMark        a rewind to a mark (a checkpoint) that belongs to another frame, or no longer exists
├── GraphError       a prompt graph cannot be traversed, or an edit of a prompt graph was refused
│   └── BadGraphFile     a graph file with faults; the message lists all of them
├── UnusableReply    a model's reply held nothing usable, even after repairs
└── ModelError       a model did not answer: the run stops, and can be resumed
    ├── UnknownModel      no model has that name, or the name is malformed
    ├── ModelRefused      the server will never accept this request: a wrong key, model name or parameter
    ├── ContextExceeded   the prompt is longer than the model accepts
    ├── ModelUnavailable  the server did not answer, even after all retries
    └── NotRecorded       the recording has no answer to this prompt

BaseException: plan code cannot catch these, so they pass through any number of nested plans
├── CellOver         a function that plan code called has ended the running piece of code; the episode continues
├── FunctionError    one of the planning method's functions raised an error that is not the fault of the plan
├── EpisodeOver      the episode ended
│   ├── RoundOver        the environment's episode ended; another round may begin
│   ├── PlansRefused     too many plans in a row failed the check; a method may try another subtask
│   └── NoPlan           no model gave a plan that could be run
├── EpisodeBroken    the environment or the engine failed: the outcome of the episode is BROKEN
├── EpisodeStopped   the user stopped the run: the episode can be resumed later
├── BudgetEnded      the run's budget is used up: the episode can be resumed with a larger budget
├── JournalMismatch  an event differs from the recorded one
└── JournalFailed    an event could not be written: the run cannot continue
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from planbook.envs import EnvironmentBroken, EnvsError, error_location

if TYPE_CHECKING:
    from planbook.planner.models.types import Message


class PlannerError(Exception):
    """Base of this package's errors."""


class BadProcedure(PlannerError):
    """A procedure file that cannot be read or does not pass the check."""


class UnknownStrategy(PlannerError):
    """No planning method has that name, or the method cannot be loaded."""


class WrongMark(PlannerError):
    """A rewind to a mark (a checkpoint) that belongs to another frame, or that an earlier rewind has removed."""


class GraphError(PlannerError):
    """A prompt graph cannot be traversed, or an edit of a prompt graph was refused."""


class BadGraphFile(GraphError):
    """A graph file with faults. The message lists them, one on each line."""


class UnusableReply(PlannerError):
    """A model's reply held nothing usable, even after repairs.

    ``conversation`` holds the messages, including the last reply. It is empty if the model could not be asked.
    """

    def __init__(self, message: str, conversation: Sequence["Message"] = ()) -> None:
        super().__init__(message)
        self.conversation = tuple(conversation)


class ModelError(PlannerError):
    """A model did not answer. The run stops, and can be resumed."""


class UnknownModel(ModelError):
    """No model has that name, or the name is malformed."""


class ModelRefused(ModelError):
    """The server will never accept this request, because its key, model name or a parameter is wrong."""


class ContextExceeded(ModelError):
    """The prompt is longer than the model accepts."""


class ModelUnavailable(ModelError):
    """The server did not answer, even after all retries."""


class NotRecorded(ModelError):
    """The recording has no answer to this prompt."""


class CellOver(BaseException):
    """A function that plan code called has ended the cell (the running piece of code). The episode continues."""


class FunctionError(BaseException):
    """Wraps an error raised by one of the planning method's functions, so that plan code cannot catch it."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


class EpisodeOver(BaseException):
    """The episode ended, for example while a cell was running."""


class RoundOver(EpisodeOver):
    """The environment ended its own episode. A method that plays several rounds may begin the next round."""


class PlansRefused(EpisodeOver):
    """Too many plans in a row failed the check. A method may try another subtask or round."""


class NoPlan(EpisodeOver):
    """No model gave a plan that could be run, even after repairs. The environment is unchanged."""


class EpisodeBroken(BaseException):
    """The environment or the engine failed. The outcome of the episode is BROKEN."""


class EpisodeStopped(BaseException):
    """The user stopped the run, which can be resumed."""


class BudgetEnded(BaseException):
    """The run's budget is used up.

    ``suggested_limit`` is a larger limit with which the run could continue, such as ``calls=120``.
    """

    def __init__(self, message: str = "", suggested_limit: str = "") -> None:
        self.suggested_limit = suggested_limit
        super().__init__(message)

    @property
    def name(self) -> str:
        """The name of the limit that was reached."""
        return self.suggested_limit.partition("=")[0]


class JournalFailed(BaseException):
    """An event could not be written. ``__cause__`` is the error of the store."""


class JournalMismatch(BaseException):
    """An event of a resumed episode differs from the event that was recorded at the same position.

    ``recorded`` is the recorded event and ``actual`` the new one. They may hold only the parts that differ.
    """

    def __init__(self, scope: str, kind: str, number: int, recorded: JsonValue, actual: JsonValue) -> None:
        self.scope, self.kind, self.number, self.recorded, self.actual = scope, kind, number, recorded, actual
        super().__init__(f"{scope}: {kind} {number} was recorded as {recorded!r}, but is now {actual!r}")


_PACKAGE = Path(__file__).parent


@contextmanager
def environment_errors(except_for: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn errors of the environment into EpisodeBroken, which plan code cannot catch.

    Errors of the types in ``except_for`` are raised unchanged.
    """
    try:
        yield
    except except_for:
        raise
    except (Exception, SystemExit) as error:
        raise EpisodeBroken(environment_fault(error)) from error


def environment_fault(error: Exception | SystemExit) -> str:
    """Return the message for an error of the environment.

    For an EnvsError, the message is short. For any other error, it also names the line of code that raised the error
    and shows the traceback, if they can be found.
    """
    if isinstance(error, EnvsError):
        return str(error) if isinstance(error, EnvironmentBroken) else f"{type(error).__name__}: {error}"
    place, trace = error_location(error, skipped_folders=[_PACKAGE])
    message = f"the environment raised {type(error).__name__}: {error}"
    return f"{message} ({place})\n{trace}" if place else message
