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
from planbook.runs import PAUSED, Run
from planbook.store import Event, Store
from planbook.workers import Request, arguments, request

ACTIVITY = ("act", "ask", "cell", "heard")
"""Kinds of events that show what an episode is doing."""


class Following:
    """The run as far as it has been read. ``version`` grows with every change.

    ``changed`` maps the number of each changed episode to the version of its last change. ``lock`` is held while the
    run is read or rendered.
    """

    def __init__(self, folder: Path) -> None:
        self.run, self.lock = Run.open(folder), threading.RLock()
        self.read = RunResults.empty(self.run, folder.resolve().name)
        self.version = 0
        self.changed: dict[int, int] = {}
        self.invocations = 0
        """The number of invocations that have begun."""
        self.invocation_options: dict[str, object] = {}
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
            before = self.played, self._row
            try:
                self.played = self.run.is_played
                for row, event in self.run.store.since(self._row):
                    self._row = row
                    self._take(event)
            finally:  # what was read counts, even if the store fails then
                self.version += before != (self.played, self._row)

    def _take(self, event: Event) -> None:
        for index in self.read.take(event):
            self.changed[index] = self.version + 1
            if event.kind in ACTIVITY:
                self.last[index] = event
            elif event.kind == "outcome":
                self.last.pop(index, None)
        if event.kind == "sitting":
            self._take_invocation_event(event)
        elif event.kind == "control":
            self.requested = str(event.body["do"])

    def _take_invocation_event(self, event: Event) -> None:
        """Read the beginning, end, pause or continuation of an invocation."""
        self.paused, self.requested = PAUSED in event.body, ""
        if "jobs" in event.body:
            self.invocations += 1
            self.invocation_options = dict(event.body)

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


RunState = Literal["playing", "paused", "pausing", "stopping", "resuming", "stopped", "finished"]
OFFERED: dict[RunState, tuple[Request, ...]] = {
    "playing": ("pause", "stop"),
    "pausing": ("go on", "stop"),
    "paused": ("go on", "stop"),
    "stopping": (),
    "resuming": (),
    "stopped": ("go on",),
    "finished": (),
}
"""Requests that a run accepts, by its state."""
PENDING: dict[str, RunState] = {"pause": "pausing", "stop": "stopping"}
"""States of a run that has not answered a request yet."""


class RunControl:
    """Sends requests to the run that is followed, or resumes it if no process is playing it."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._resumed: ResumedRun | None = None

    @property
    def state(self) -> RunState:
        """The state of the run."""
        run, resumed = self._following, self._resumed
        if resumed is not None and resumed.is_running and resumed.invocations == run.invocations:
            return "resuming"  # it would ignore a request
        if run.played:
            return PENDING.get(run.requested, "paused" if run.paused else "playing")
        return "finished" if run.ended == run.entries else "stopped"

    @property
    def problem(self) -> str:
        """The reason why the resumed run did not go on; else empty."""
        return self._resumed.problem if self._resumed is not None and self.state == "stopped" else ""

    def ask(self, what: Request) -> None:
        """Send a request to the run, or resume it. A request that its state does not accept is ignored.

        Raises BadRun if the store cannot be read or written.
        """
        with self._following.lock:
            self._following.catch_up()
            state = self.state
            if what in OFFERED[state] and state == "stopped":
                self._resumed = ResumedRun(self._following)
            elif what in OFFERED[state]:
                with closing(Store(self._following.run.store.place)) as store:
                    request(store, what)


class ResumedRun:
    """A process that resumes the run, and outlives the watching process."""

    def __init__(self, following: Following) -> None:
        self.invocations = following.invocations
        """The number of invocations before it."""
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is written until the process ends
        resume = ["run", "--resume", str(following.run.folder), *arguments(following.invocation_options)]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "planbook", *resume],
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
        """The last line of its output, unless it succeeded or was stopped on request."""
        if self._process.poll() in (None, errors.OK, errors.INTERRUPTED):
            return ""
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with exit code {self._process.returncode}"
