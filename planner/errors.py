"""The exceptions of the planner package.

PlannerError
├── BadProcedure     a procedure file that cannot be read or does not pass the check
├── UnknownStrategy  no planning method with that name
├── WrongMark        a rewind to a mark of another frame, or to one that was undone
├── GraphError       a prompt graph that cannot be traversed, or an edit of one that is refused
│   └── BadGraphFile     a graph file with faults, all of them in the message
├── UnusableReply    a model's reply held nothing usable, even after repairs
└── ModelError       a model did not answer: the run stops there, and can be resumed
    ├── UnknownModel      no model with that name, or its name cannot be read
    ├── ModelRefused      the server will never take this request: key, model name, parameters
    ├── ContextExceeded   the prompt is longer than the model accepts
    ├── ModelUnavailable  the server did not answer, after every retry
    └── NotRecorded       the recording has no answer to this prompt

BaseException: these unwind the host's stack through nested plans, which cannot catch them
├── CellOver         a function that plan code called ended its cell; the episode continues
├── FunctionError    carries an error of a method's own function past the plan that called it
├── EpisodeOver      the episode ended
│   ├── RoundOver        the environment's episode ended; another round may begin
│   └── NoPlan           no model gave a plan that could be run
├── EpisodeBroken    the environment or the engine failed: counted BROKEN
├── EpisodeStopped   the user stopped the run: the episode is resumed later
├── BudgetEnded      the run's budget is used up: the episode may be resumed later
├── JournalMismatch  an event differs from the recorded one
└── JournalFailed    an event could not be written: the run cannot continue
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from planbook.envs import EnvsError, raised_at

if TYPE_CHECKING:
    from planbook.planner.models.types import Message


class PlannerError(Exception):
    """Base of this package's errors."""


class BadProcedure(PlannerError):
    """A procedure file that cannot be read or does not pass the check."""


class UnknownStrategy(PlannerError):
    """No planning method with that name."""


class WrongMark(PlannerError):
    """A rewind to a mark of another frame, or to one that an earlier rewind has undone."""


class GraphError(PlannerError):
    """A prompt graph that cannot be traversed, or an edit of one that is refused."""


class BadGraphFile(GraphError):
    """A graph file with faults; the message lists all of them, one on each line."""


class UnusableReply(PlannerError):
    """A model's reply held nothing usable, even after repairs.

    ``conversation`` holds the messages, the last reply included; it is empty if the model could not be asked.
    """

    def __init__(self, message: str, conversation: Sequence["Message"] = ()) -> None:
        super().__init__(message)
        self.conversation = tuple(conversation)


class ModelError(PlannerError):
    """A model did not answer: the run stops there, and can be resumed."""


class UnknownModel(ModelError):
    """No model with that name, or its name cannot be read."""


class ModelRefused(ModelError):
    """The server will never take this request: a wrong key, model name or parameter."""


class ContextExceeded(ModelError):
    """The prompt is longer than the model accepts."""


class ModelUnavailable(ModelError):
    """The server did not answer, after every retry."""


class NotRecorded(ModelError):
    """The recording has no answer to this prompt."""


class CellOver(BaseException):
    """A function that plan code called ended the cell, as if the cell had run to its end."""


class FunctionError(BaseException):
    """Carries an error of a method's own function past the plan that called it."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(str(error))


class EpisodeOver(BaseException):
    """The episode ended, for example while a cell was running."""


class RoundOver(EpisodeOver):
    """The environment's own episode ended. A method with rounds left may begin another."""


class NoPlan(EpisodeOver):
    """No model gave a plan that could be run, even after repairs. The environment is unchanged."""


class EpisodeBroken(BaseException):
    """The environment or the engine failed. The episode counts as BROKEN."""


class EpisodeStopped(BaseException):
    """The user stopped the run, which can be resumed."""


class BudgetEnded(BaseException):
    """The run's budget is used up. ``larger`` is a limit with which to continue, such as ``calls=120``."""

    def __init__(self, message: str = "", larger: str = "") -> None:
        self.larger = larger
        super().__init__(message)

    @property
    def name(self) -> str:
        """The name of the limit that was reached."""
        return self.larger.partition("=")[0]


class JournalFailed(BaseException):
    """An event could not be written; ``__cause__`` is the error of the store."""


class JournalMismatch(BaseException):
    """An event differs from the recorded one; both bodies are kept for the report."""

    def __init__(self, scope: str, kind: str, number: int, recorded: JsonValue, actual: JsonValue) -> None:
        self.scope, self.kind, self.number, self.recorded, self.actual = scope, kind, number, recorded, actual
        super().__init__(f"{scope}: {kind} {number} was recorded as {recorded!r}, but is now {actual!r}")


_PACKAGE = Path(__file__).parent


@contextmanager
def environment_errors(but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn the environment's errors, except those of type ``but``, into EpisodeBroken. They never reach the plan."""
    try:
        yield
    except but:
        raise
    except (Exception, SystemExit) as error:
        raise EpisodeBroken(environment_fault(error)) from error


def environment_fault(error: Exception | SystemExit) -> str:
    """Return the message for an error of the environment.

    Except for EnvsError, it names the place where the error was raised, if known, and gives the traceback.
    """
    if isinstance(error, EnvsError):
        return f"{type(error).__name__}: {error}"
    place, trace = raised_at(error, besides=[_PACKAGE])
    message = f"the environment raised {type(error).__name__}: {error}"
    return f"{message} ({place})\n{trace}" if place else message
