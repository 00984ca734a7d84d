"""A place in the journal, and the numbering of what happens there."""

from collections import Counter
from collections.abc import Callable

from pydantic import JsonValue

from planner.journal import Body, EventKind, Journal, record, write


class Scope:
    """Events of a kind are numbered from 0, and so are children of a name: the same steps always give the same places.

    An episode has one, each of its rounds and frames has one; whatever else asks a model gets one of its own.
    """

    def __init__(self, journal: Journal, path: str) -> None:
        self.path, self._journal = path, journal
        self._events: Counter[EventKind] = Counter()
        self._children: Counter[str] = Counter()

    def child(self, name: str) -> "Scope":
        """The next child of that name: ``task/17/round/1``, then ``task/17/round/2``."""
        number = self._children[name]
        self._children[name] += 1
        return Scope(self._journal, f"{self.path}/{name}/{number}")

    def record(self, kind: EventKind, **body: JsonValue) -> None:
        """Write a kind's next event, or hold it against the recorded one. Raises JournalMismatch, JournalFailed."""
        number = self._events[kind]
        self._events[kind] += 1
        record(self._journal, self.path, kind, number, body)

    def once(self, kind: EventKind, make: Callable[[], Body]) -> Body:
        """The one event of a kind: made the first time, from then on answered by the journal. Raises JournalFailed."""
        recorded = self._journal.get(self.path, kind, 0)
        if recorded is None:
            recorded = make()
            write(self._journal, self.path, kind, 0, recorded)
        return recorded
