"""A journal that fails after a number of events, as if its process had been killed."""

import threading
from collections.abc import Mapping

from planbook.planner import Body, EventKind, MemoryJournal


class KilledJournal(MemoryJournal):
    """Holds the given events, takes ``left`` more, and then fails."""

    def __init__(self, left: int, events: Mapping[tuple[str, EventKind, int], Body] | None = None) -> None:
        super().__init__()
        self.events, self._left, self._lock = dict(events or {}), left, threading.Lock()

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        with self._lock:
            if self._left == 0:
                raise OSError("killed")
            self._left -= 1
            super().put(scope, kind, number, body)
