"""The journal: the record of an episode as a sequence of events.

Each event belongs to a scope, which is a place in the journal such as ``task/17/round/0``. To resume an episode, its
method is run again from the beginning. As long as the journal already holds the next event, the new event is compared
with the recorded one. The replies of models are then read from the journal, and no model is asked.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from planbook.planner.errors import JournalFailed, JournalMismatch

OldSpanKind = Literal["subtask", "goal", "plan", "branch", "node"]
"""The kinds of events that only planbook 0.1 wrote, which had no spans."""
EpisodeKind = Literal["task", "recall", "heard", "ask", "act", "rewind", "cell", "outcome", "span"]
RunKind = Literal["learnt", "undo", "versions", "sitting", "control"]
EventKind = EpisodeKind | RunKind | OldSpanKind
"""The kinds of events: those of an episode, and those of a whole run."""
Body = Mapping[str, JsonValue]
"""The data of an event, as JSON values."""


class RecordedEvent(Protocol):
    """An event that was read from a journal."""

    @property
    def scope(self) -> str:
        """The place in the journal that the event belongs to."""

    @property
    def kind(self) -> str:
        """The kind of the event."""

    @property
    def body(self) -> Any:
        """The content of the event."""


class Journal(Protocol):
    """A record to which events can only be added. No two events have the same scope, kind and number."""

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None if it is not recorded."""

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event. It must not be lost if this process is killed."""


def record(journal: Journal, scope: str, kind: EventKind, number: int, body: Body) -> None:
    """Write an event or, if the journal already holds an event with the same scope, kind and number, compare the two.

    Raises JournalMismatch if the two differ, or JournalFailed if the event cannot be written.
    """
    recorded = journal.get(scope, kind, number)
    if recorded is None:
        write(journal, scope, kind, number, body)
    elif _compared_part(recorded) != _compared_part(body):
        raise JournalMismatch(scope, kind, number, dict(recorded), dict(body))


def _compared_part(body: Body) -> Body:
    """Return the event without the text of a cell's feedback, which other versions of planbook may word differently."""
    feedback = body.get("feedback")
    return {**body, "feedback": {**feedback, "text": ""}} if isinstance(feedback, dict) else body


def write(journal: Journal, scope: str, kind: EventKind, number: int, body: Body) -> None:
    """Add an event. For any error of the journal, raises JournalFailed, which plan code cannot catch."""
    try:
        journal.put(scope, kind, number, body)
    except Exception as error:
        raise JournalFailed(str(error)) from error


class MemoryJournal:
    """A journal in memory, for single plans and for tests."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, EventKind, int], Body] = {}

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None if it is not recorded."""
        return self.events.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event."""
        self.events[scope, kind, number] = body
