"""What a run is doing, and asking it to do otherwise."""

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
ON_THE_WAY: dict[str, Doing] = {"pause": "pausing", "stop": "stopping", "go on": "playing"}


class Steered:
    """Steers the run that is followed; begins it again where nobody plays it."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._again: Again | None = None

    @property
    def doing(self) -> Doing:
        """In a word."""
        at = self._following
        if at.played:
            if at.asked in ("pause", "stop"):
                return ON_THE_WAY[at.asked]
            return "paused" if at.paused else "playing"
        if self._again is not None and self._again.goes_on:
            return "starting again"
        return "over" if at.ended == at.entries else "stopped"

    @property
    def problem(self) -> str:
        """Why the run could not be gone on with, if so."""
        return "" if self._again is None or self._following.played else self._again.problem

    def ask(self, what: Request) -> None:
        """Ask for it. Raises BadRun where the store cannot be written."""
        doing = self.doing
        if what == "go on" and doing in ("stopped", "over"):
            self._again = Again(self._following)
        elif doing in MAKES_SENSE[what]:
            with closing(Store(self._following.run.store.place)) as store:
                request(store, what)


MAKES_SENSE: dict[Request, tuple[Doing, ...]] = {
    "pause": ("playing",),
    "go on": ("paused", "pausing"),
    "stop": ("playing", "paused", "pausing"),
}
"""What can be asked of a run that is played, by what it is doing."""


class Again:
    """The run, gone on with by a process of its own, which goes on when nobody watches any more."""

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
    def goes_on(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    @property
    def problem(self) -> str:
        """The last line that it said, where it came to no good end."""
        if self._process.poll() in (None, errors.OK, errors.INTERRUPTED):
            return ""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with exit code {self._process.returncode}"
