"""A run that is followed while another process plays it: its events, its state, and requests to that process.

An *invocation* is the time from the start of a process that plays the run until its end; a run that is resumed has
several.
"""

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
from planbook.workers import Request, command_options, send_request

ACTIVITY = ("act", "ask", "cell", "heard")
"""Kinds of events from which the page shows what an open episode is doing."""


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
        self.invocations = 0
        """Number of invocations that have begun."""
        self.invocation_options: dict[str, object] = {}
        """Command line options of the last invocation, for example its number of jobs."""
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
            self._take_invocation_event(event)
        elif event.kind == "control":
            self.pending_request = str(event.body["do"])

    def _take_invocation_event(self, event: Event) -> None:
        """Read an event that says that an invocation begins, pauses, continues or ends."""
        self.paused, self.pending_request = PAUSED in event.body, ""
        if "jobs" in event.body:
            self.invocations += 1
            self.invocation_options = dict(event.body)

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
    def ended_count(self) -> int:
        """The number of episodes that have ended, without those that were skipped."""
        return len(self.ended_episodes())


RunState = Literal["playing", "paused", "pausing", "stopping", "resuming", "stopped", "finished"]
ACCEPTED_REQUESTS: dict[RunState, tuple[Request, ...]] = {
    "playing": ("pause", "stop"),
    "pausing": ("go on", "stop"),
    "paused": ("go on", "stop"),
    "stopping": (),
    "resuming": (),
    "stopped": ("go on",),
    "finished": (),
}
"""Maps each state of a run to the requests that it accepts."""
PENDING: dict[str, RunState] = {"pause": "pausing", "stop": "stopping"}
"""Maps a request that the run has not acted on yet to the state of the run."""


class RunControl:
    """Sends requests to the process that plays the run, or resumes the run if no process is playing it."""

    def __init__(self, run: FollowedRun) -> None:
        self._run = run
        self._resumed: ResumedRun | None = None

    @property
    def state(self) -> RunState:
        """The state of the run."""
        run, resumed = self._run, self._resumed
        if resumed is not None and resumed.is_running and resumed.invocations == run.invocations:
            return "resuming"  # the new process does not read requests yet
        if run.is_played:
            return PENDING.get(run.pending_request, "paused" if run.paused else "playing")
        return "finished" if run.ended_count == run.episode_count else "stopped"

    @property
    def problem(self) -> str:
        """The reason why the resumed run has stopped again, or ""."""
        return self._resumed.problem if self._resumed is not None and self.state == "stopped" else ""

    def ask(self, request: Request) -> None:
        """Send a request to the run, or resume the run. Do nothing if the run does not accept the request in its state.

        Raises BadRun if the store cannot be read or written.
        """
        with self._run.lock:
            self._run.catch_up()
            state = self.state
            if request in ACCEPTED_REQUESTS[state] and state == "stopped":
                self._resumed = ResumedRun(self._run)
            elif request in ACCEPTED_REQUESTS[state]:
                with closing(Store(self._run.run.store.location)) as store:
                    send_request(store, request)


class ResumedRun:
    """A process that resumes the run. It continues when the watching process ends."""

    def __init__(self, run: FollowedRun) -> None:
        self.invocations = run.invocations
        """Number of invocations that began before this process was started."""
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is written until the process ends
        resume = ["run", "--resume", str(run.run.folder), *command_options(run.invocation_options)]
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
        """The last line of the output of a process that has failed, or "" if it runs, succeeded or was stopped."""
        if self._process.poll() in (None, errors.OK, errors.INTERRUPTED):
            return ""
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with exit code {self._process.returncode}"
