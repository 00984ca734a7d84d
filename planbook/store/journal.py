"""One episode's view of the store."""

from collections.abc import Callable, Iterator
from typing import Protocol

from planbook.planner import Body, EventKind
from planbook.store.restarts import RESTART
from planbook.store.tables import Event

Watch = Callable[[EventKind, Body], None]
"""Told of each new event of an episode, after it is committed."""


class Events(Protocol):
    """The store, as far as a journal needs it."""

    def put(self, scope: str, kind: EventKind, n: int, body: Body) -> None:
        """Add one event and commit it."""

    def events(self, scope: str) -> Iterator[Event]:
        """The events of a scope and those below it."""


class EpisodeJournal:
    """One episode's view of the store: what stands there is read once, what is new is written through."""

    def __init__(self, store: Events, path: str, watch: Watch | None = None) -> None:
        self._store, self._watch = store, watch
        self._recorded: dict[tuple[str, str, int], Body] = {
            (row.scope, row.kind, row.n): row.body
            for row in store.events(path)
            if not row.scope.startswith(path + RESTART)
        }

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """The body of a recorded event, or None."""
        return self._recorded.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event; it is committed when this returns."""
        self._store.put(scope, kind, number, body)
        self._recorded[scope, kind, number] = body
        if self._watch is not None:
            self._watch(kind, body)
