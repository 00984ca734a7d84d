"""A run that is followed while another process plays it: its events, its state, and requests to that process."""

import threading
from contextlib import closing
from pathlib import Path
from typing import Literal

from planbook.results.rows import Result
from planbook.results.table import RunResults
from planbook.runs import PAUSED, Run
from planbook.store import Event, Store
from planbook.workers import Request, send_request

ACTIVITY = ("act", "ask", "cell", "heard")
"""Kinds of events from which the page shows what an open episode is doing."""


RunState = Literal["playing", "paused", "pausing", "stopping", "stopped", "finished"]
ACCEPTED_REQUESTS: dict[RunState, tuple[Request, ...]] = {
    "playing": ("pause", "stop"),
    "pausing": ("go on", "stop"),
    "paused": ("go on", "stop"),
}
"""Maps states of a run to the requests that it accepts. In any other state it accepts none."""
PENDING: dict[str, RunState] = {"pause": "pausing", "stop": "stopping"}
"""Maps a request that the run has not acted on yet to the state of the run."""


class FollowedRun:
    """What has been read of a run so far.

    ``version`` is a number that grows with every change, and ``changed`` maps the index of each changed episode to the
    version of its last change. Hold ``lock`` while the run is read or rendered.
    """

    def __init__(self, folder: Path) -> None:
        self.run, self.lock = Run.open(folder), threading.RLock()
        self.results = RunResults.empty(self.run, folder.resolve().name)
        self.version = 0
        self.changed: dict[int, int] = {}
        self.paused = self.is_played = False
        self.pending_request = ""
        """The last request that the run has not acted on, or ""."""
        self.last_activity: dict[int, Event] = {}
        """Maps the index of each open episode to the last event that shows what it is doing."""
        self._row = 0

    def close(self) -> None:
        """Close the run."""
        self.run.close()

    def catch_up(self) -> None:
        """Read new events, and check whether the run is being played."""
        with self.lock:
            before = self.is_played, self._row
            try:
                self.is_played = self.run.is_played
                for row, event in self.run.store.events_since(self._row):
                    self._row = row
                    self._take(event)
            finally:  # events that were read before an error of the store count, too
                self.version += before != (self.is_played, self._row)

    def _take(self, event: Event) -> None:
        for index in self.results.take(event):
            self.changed[index] = self.version + 1
            if event.kind in ACTIVITY:
                self.last_activity[index] = event
            elif event.kind == "outcome":
                self.last_activity.pop(index, None)
        if event.kind == "sitting":
            self.paused, self.pending_request = PAUSED in event.body, ""
        elif event.kind == "control":
            self.pending_request = str(event.body["do"])

    def open_episodes(self) -> list[Result]:
        """Return the episodes that have begun but not ended."""
        return [row for row in self.results.episodes.values() if row.is_open]

    def ended_episodes(self) -> list[Result]:
        """Return the episodes that have ended."""
        return [row for row in self.results.so_far().episodes.values() if not row.is_skipped]

    @property
    def episode_count(self) -> int:
        """The number of episodes, without those that were skipped."""
        return len(self.results.counted)

    @property
    def state(self) -> RunState:
        """The state of the run."""
        if self.is_played:
            return PENDING.get(self.pending_request, "paused" if self.paused else "playing")
        return "finished" if len(self.ended_episodes()) == self.episode_count else "stopped"

    def ask(self, request: Request) -> None:
        """Send a request to the process that plays the run, unless the run does not accept it in its state.

        Raises BadRun if the store cannot be read or written.
        """
        with self.lock:
            self.catch_up()
            if request in ACCEPTED_REQUESTS.get(self.state, ()):
                with closing(Store(self.run.store.location)) as store:
                    send_request(store, request)
