"""A run that is followed while it is played: its events, its state, and requests to pause, resume or stop it."""

import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import Literal

from planbook import errors
from planbook.results.rows import Result
from planbook.results.table import RunResults
from planbook.runs import PAUSED, Run, index_of
from planbook.store import Event, Store
from planbook.workers import Request, arguments, request

ACTIVITY = ("act", "ask", "cell", "heard")
"""Kinds of events that show what an episode is doing."""


class Following:
    """The run as far as it has been read. ``version`` grows with every change; ``changed`` has it by changed episode.

    ``lock`` is held while the run is read or rendered.
    """

    def __init__(self, folder: Path) -> None:
        self.run, self.lock = Run.open(folder), threading.RLock()
        self.read = RunResults.empty(self.run, folder.resolve().name)
        self.version = 0
        self.changed: dict[int, int] = {}
        self.hosted: dict[str, object] = {}
        """Options of the last invocation, for example its number of jobs."""
        self.paused = self.played = False
        self.requested = ""
        """The last request, until it is answered."""
        self.last: dict[int, Event] = {}
        """The last activity of each open episode."""
        self._row = 0

    def close(self) -> None:
        """Close the run."""
        self.run.close()

    def catch_up(self) -> None:
        """Read new events, and check whether the run is being played."""
        with self.lock:
            before, row = (self.played, self.paused, self.requested), self._row
            self.played = self.run.is_played
            updated = {self._take(event) for self._row, event in self.run.store.since(self._row)}
            if row == self._row and before == (self.played, self.paused, self.requested):
                return
            self.version += 1
            self.changed.update(dict.fromkeys(updated & self.read.episodes.keys(), self.version))

    def _take(self, event: Event) -> int:
        """Read an event; return the number of its episode, or -1."""
        if event.scope != "run":
            return self._take_episode_event(event)
        if event.kind != "task":
            self.read.take(event)
        if event.kind == "sitting":
            self._take_invocation_event(event)
        elif event.kind == "control":
            self.requested = str(event.body["do"])
        return -1

    def _take_episode_event(self, event: Event) -> int:
        self.read.take(event)
        index = index_of(event.scope)
        if (row := self.read.episodes.get(index)) and not row.is_open:
            self.last.pop(index, None)
        elif row and event.kind in ACTIVITY:
            self.last[index] = event
        return index

    def _take_invocation_event(self, event: Event) -> None:
        """Read the beginning, end, pause or continuation of an invocation."""
        self.paused, self.requested = PAUSED in event.body, ""
        if "jobs" in event.body:
            self.hosted = dict(event.body)

    def under_way(self) -> list[Result]:
        """Return the episodes that have begun and not ended."""
        return [row for row in self.read.episodes.values() if row.is_open]

    def so_far(self) -> list[Result]:
        """Return the episodes that have ended."""
        return [row for row in self.read.so_far().episodes.values() if not row.is_skipped]

    @property
    def entries(self) -> int:
        """The number of episodes, without those that were skipped."""
        return len(self.read.counted)

    @property
    def ended(self) -> int:
        """The number of episodes that have ended, without those that were skipped."""
        return len(self.so_far())


Doing = Literal["playing", "paused", "pausing", "stopping", "starting again", "stopped", "over"]
OFFERED: dict[Doing, tuple[Request, ...]] = {
    "playing": ("pause", "stop"),
    "pausing": ("go on", "stop"),
    "paused": ("go on", "stop"),
    "stopping": (),
    "starting again": (),
    "stopped": ("go on",),
    "over": (),
}
"""Requests that a run accepts, by its state."""
PENDING: dict[str, Doing] = {"pause": "pausing", "stop": "stopping", "go on": "playing"}


class RunControl:
    """Sends requests to the run that is followed, or resumes it if no process is playing it."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._resumed: ResumedRun | None = None

    @property
    def doing(self) -> Doing:
        """The state of the run."""
        run = self._following
        if run.played:
            if run.requested in ("pause", "stop"):
                return PENDING[run.requested]
            return "paused" if run.paused else "playing"
        if self._resumed is not None and self._resumed.is_running:
            return "starting again"
        return "over" if run.ended == run.entries else "stopped"

    @property
    def problem(self) -> str:
        """The error if the run could not be resumed; else empty."""
        return "" if self._resumed is None or self._following.played else self._resumed.problem

    def ask(self, what: Request) -> None:
        """Send a request that the run's state accepts; others are ignored. Resume a run that nobody plays.

        Raises BadRun if the store cannot be written.
        """
        doing = self.doing
        if what == "go on" and doing in ("stopped", "over"):
            self._resumed = ResumedRun(self._following)
        elif what in OFFERED[doing]:
            with closing(Store(self._following.run.store.place)) as store:
                request(store, what)


class ResumedRun:
    """A process that resumes the run, and outlives the watching process."""

    def __init__(self, following: Following) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is written until the process ends
        folder = str(following.run.folder)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "planbook", "run", "--resume", folder, *arguments(following.hosted)],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    @property
    def problem(self) -> str:
        """The last line of its output if it failed; else empty."""
        if self._process.poll() in (None, errors.OK, errors.INTERRUPTED):
            return ""
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with exit code {self._process.returncode}"
