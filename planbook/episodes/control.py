"""Steering from outside: what `planbook watch` writes into the store of a run is obeyed by the process that plays it.

The other way round, a sitting notes how its episodes are hosted, so that a later one can be begun from outside alike.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, Literal

from pydantic import JsonValue

from planbook.episodes.lanes import Hosting
from planbook.episodes.regular import every
from planbook.episodes.steering import Steering
from planbook.errors import BadRun
from planbook.run import Run

POLL = 0.5
"""Seconds between two looks at what was asked for."""
SCOPE = "run"
"""Where what is asked for stands, as events of the kind ``control``, numbered from 0."""
Ask = Literal["pause", "go on", "stop"]


class Control:
    """Obeys, while it ``listens``, what is asked for from its making on; what stood there before is over."""

    def __init__(self, run: Run) -> None:
        self.steering = Steering()
        self.stopped = False
        """Whether somebody outside asked for the end."""
        self._run = run
        self._obeyed = sum(1 for _ in self._asked())

    def listens(self) -> AbstractContextManager[None]:
        """Look now and then what was asked for, in a thread of its own, as long as it is entered."""
        return every(POLL, self._obey)

    def _obey(self) -> None:
        with suppress(BadRun):  # a database that is lost ends the episodes, which write; a reader finds it later
            for body in self._asked()[self._obeyed :]:
                self._obeyed += 1
                OBEY[body["do"]](self)

    def _asked(self) -> list[Any]:
        return [row.body for row in self._run.store.events(SCOPE, "control")]

    def _pause(self) -> None:
        if not self.steering.paused:
            self.steering.pause()
            self._run.pause()

    def _go_on(self) -> None:
        if self.steering.paused:
            self._run.go_on()
            self.steering.go_on()

    def _stop(self) -> None:
        self.stopped = True
        self.steering.stop()


OBEY = {"pause": Control._pause, "go on": Control._go_on, "stop": Control._stop}


def hosted(hosting: Hosting) -> dict[str, JsonValue]:
    """How a sitting hosts its episodes, as it is noted."""
    noted: dict[str, JsonValue] = {"jobs": hosting.jobs, "executor": hosting.executor}
    if hosting.unsafe_no_sandbox:
        noted["unsafe_no_sandbox"] = True
    if hosting.prices:
        noted["prices"] = str(hosting.prices.resolve())
    return noted


def arguments(noted: Mapping[str, Any]) -> list[str]:
    """The options of a command that hosts episodes like the sitting that noted this."""
    told = ["--jobs", str(noted.get("jobs", 1))]
    if noted.get("executor", "threads") != "threads":
        told += ["--executor", noted["executor"]]
    if noted.get("unsafe_no_sandbox"):
        told.append("--unsafe-no-sandbox")
    return told + (["--prices", noted["prices"]] if "prices" in noted else [])
