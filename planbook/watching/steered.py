"""The state of a run, and requests to pause, resume or stop it."""

import subprocess
import sys
import tempfile
from contextlib import closing
from typing import Literal

from planbook import errors
from planbook.store import Store
from planbook.watching.following import Following
from planbook.workers import Request, arguments, request

Doing = Literal["playing", "paused", "pausing", "stopping", "starting again", "stopped", "over"]
PENDING: dict[str, Doing] = {"pause": "pausing", "stop": "stopping", "go on": "playing"}


class Steered:
    """Sends requests to the run that is followed; resumes it if nobody plays it."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._again: ResumedRun | None = None

    @property
    def doing(self) -> Doing:
        """The state of the run."""
        at = self._following
        if at.played:
            if at.asked in ("pause", "stop"):
                return PENDING[at.asked]
            return "paused" if at.paused else "playing"
        if self._again is not None and self._again.is_running:
            return "starting again"
        return "over" if at.ended == at.entries else "stopped"

    @property
    def problem(self) -> str:
        """The error if the run could not be resumed."""
        return "" if self._again is None or self._following.played else self._again.problem

    def ask(self, what: Request) -> None:
        """Send a request. Raises BadRun if the store cannot be written."""
        doing = self.doing
        if what == "go on" and doing in ("stopped", "over"):
            self._again = ResumedRun(self._following)
        elif doing in MAKES_SENSE[what]:
            with closing(Store(self._following.run.store.place)) as store:
                request(store, what)


MAKES_SENSE: dict[Request, tuple[Doing, ...]] = {
    "pause": ("playing",),
    "go on": ("paused", "pausing"),
    "stop": ("playing", "paused", "pausing"),
}
"""Requests to a run that is played, by the states in which they are taken."""


class ResumedRun:
    """A process that resumes the run, and outlives the watching."""

    def __init__(self, following: Following) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it is written until the process ends
        folder = str(following.run.folder)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "planbook", "run", "--resume", folder, *arguments(following.hosted)],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        """True until the process ends."""
        return self._process.poll() is None

    @property
    def problem(self) -> str:
        """The last line of its output if it failed."""
        if self._process.poll() in (None, errors.OK, errors.INTERRUPTED):
            return ""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with exit code {self._process.returncode}"
