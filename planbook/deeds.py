"""What planning methods record of their own: the sub-tasks that they gave, the goals that they tried."""

import re

from planbook.store import Event, Store
from planner import EventKind

KINDS: tuple[EventKind, ...] = ("subtask", "goal")
OF_EPISODE = re.compile(r"(task/\d+)(?:/restart/(\d+))?/round/.+")
"""A scope inside the play of an episode, and how often it had been started over by then."""


class Deeds:
    """Such events by episode. Of an episode that was started over, those of the last time count."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._found: dict[tuple[str, int], list[Event]] = {}

    def take(self, event: Event) -> None:
        """Keep an event, if it is one."""
        if event.kind in KINDS and (inside := OF_EPISODE.fullmatch(event.scope)):
            again = int(inside[2] or 0)
            self._last[inside[1]] = max(again, self._last.get(inside[1], 0))
            self._found.setdefault((inside[1], again), []).append(event)

    def of(self, path: str, kind: EventKind) -> list[Event]:
        """The events of a kind in the episode of that path, in the order in which they were written."""
        return [event for event in self._found.get((path, self._last.get(path, 0)), ()) if event.kind == kind]


def deeds_in(store: Store) -> Deeds:
    """All that a run's methods have recorded so far."""
    found = Deeds()
    for kind in KINDS:
        for event in store.events(kind=kind):
            found.take(event)
    return found
