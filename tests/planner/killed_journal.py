"""A journal that fails after a number of events, as if its process had been killed."""

import threading
from collections.abc import Mapping

from planbook.planner import Body, EventKind, MemoryJournal


class KilledJournal(MemoryJournal):
    """Holds the events passed to it, accepts ``capacity`` more, and then fails."""

    def __init__(self, capacity: int, events: Mapping[tuple[str, EventKind, int], Body] | None = None) -> None:
        super().__init__()
        self.events, self._capacity, self._lock = dict(events or {}), capacity, threading.Lock()

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        with self._lock:
            if self._capacity == 0:
                raise OSError("killed")
            self._capacity -= 1
            super().put(scope, kind, number, body)
