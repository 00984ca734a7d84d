"""Stopping and pausing a run while it is played: switches in this process, and requests in the run's store.

A request is an event of the kind ``control`` in the scope ``run``, numbered from 0. ``planbook watch`` writes some, and
whoever starts worker processes writes "stop" for them.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Literal

from pydantic import ConfigDict, JsonValue

from planbook.config import Invocation
from planbook.errors import BadRun
from planbook.planner import EpisodeStopped
from planbook.runs import Run
from planbook.store import Store

POLL_SECONDS = 0.3
"""Time between two looks for new requests."""
SCOPE = "run"
TRIES = 20
"""Attempts to write a request while others write one at the same moment."""
Request = Literal["pause", "go on", "stop"]


class Steering:
    """Switches that any thread may turn; every episode checks them before each action and each model call."""

    def __init__(self) -> None:
        self._stop, self._go = threading.Event(), threading.Event()
        self._go.set()

    @property
    def stopped(self) -> bool:
        """True once the run is to end. A stop is final."""
        return self._stop.is_set()

    @property
    def paused(self) -> bool:
        """True while episodes wait."""
        return not self._go.is_set() and not self.stopped

    def stops(self) -> bool:
        """Wait while paused, then return whether the run is to end. Models call it before they ask a server again."""
        self._go.wait()
        return self.stopped

    def stop(self) -> None:
        """Begin no further episode; those under way end at their next action."""
        self._stop.set()
        self._go.set()

    def pause(self) -> None:
        """Let episodes wait before their next action or model call."""
        self._go.clear()

    def go_on(self) -> None:
        """End a pause."""
        self._go.set()

    def guard(self) -> None:
        """Wait while paused. Raises EpisodeStopped once stopped."""
        if self.stops():
            raise EpisodeStopped


class Control:
    """Turns the switches as requested in the store, while it ``listens``.

    ``obeyed`` is the number of requests that are over already; by default all that exist now. Of the processes that
    play a run one ``leads``: it records pauses. ``goes_on`` says whether there is still a reason to play.
    """

    def __init__(
        self,
        run: Run,
        steering: Steering | None = None,
        obeyed: int | None = None,
        *,
        leads: bool = True,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self.steering = steering or Steering()
        self.stopped = False
        """True if a request from outside stopped the run."""
        self._run, self._goes_on = run, goes_on
        self.obeyed = len(requests(run.store)) if obeyed is None else obeyed
        self._stop_clock = run.pause if leads else run.meter.stop_clock
        self._start_clock = run.go_on if leads else run.meter.start_clock

    def listens(self) -> AbstractContextManager[None]:
        """Look for requests in a thread of its own while entered."""
        return every(POLL_SECONDS, self._obey)

    def _obey(self) -> None:
        with suppress(BadRun):  # a lost database ends the episodes, which write; a reader finds it later
            for request in requests(self._run.store)[self.obeyed :]:
                self.obeyed += 1
                OBEY[request](self)
            if not self._goes_on():
                self.steering.stop()

    def _pause(self) -> None:
        if not self.steering.paused:
            self.steering.pause()
            self._stop_clock()

    def _go_on(self) -> None:
        if self.steering.paused:
            self._start_clock()
            self.steering.go_on()

    def _stop(self) -> None:
        self.stopped = self.stopped or not self.steering.stopped  # else this process asked others to stop as well
        self.steering.stop()


OBEY: dict[Request, Callable[[Control], None]] = {
    "pause": Control._pause,
    "go on": Control._go_on,
    "stop": Control._stop,
}


def requests(store: Store) -> list[Request]:
    """Return all requests in a store, in order."""
    events: Any = store.events(SCOPE, "control")
    return [event.body["do"] for event in events]


def obeyed_before(store: Store) -> int:
    """Return the number of requests from before the present invocation, whose first event says how many jobs it has."""
    seen = obeyed = 0
    for event in store.events(SCOPE, ("control", "sitting")):
        seen += event.kind == "control"
        obeyed = seen if "jobs" in event.body else obeyed
    return obeyed


def request(store: Store, what: Request) -> None:
    """Add a request to a store, whoever else adds some. Raises BadRun where the store cannot be written."""
    for left in reversed(range(TRIES)):
        try:
            store.put(SCOPE, "control", len(requests(store)), {"do": what})
        except BadRun:
            if not left:
                raise
        else:
            return


@contextmanager
def every(seconds: float, do: Callable[[], object]) -> Iterator[None]:
    """Call ``do`` in a thread of its own, each time after so many seconds, while entered."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            do()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Hosting(Invocation):
    """How an invocation plays a run; ``steering`` stops and pauses this run only."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    steering: Steering | None = None

    def recorded(self) -> dict[str, JsonValue]:
        """Return what the run records, so that ``planbook watch`` can resume it with the same settings."""
        recorded: dict[str, JsonValue] = {"jobs": self.jobs, "executor": self.executor}
        if self.unsafe_no_sandbox:
            recorded["unsafe_no_sandbox"] = True
        if self.prices:
            recorded["prices"] = str(self.prices.resolve())
        return recorded


def arguments(recorded: Mapping[str, Any]) -> list[str]:
    """Return the command line options for the settings that an invocation recorded."""
    options = ["--jobs", str(recorded.get("jobs", 1))]
    if recorded.get("executor", "threads") != "threads":
        options += ["--executor", recorded["executor"]]
    if recorded.get("unsafe_no_sandbox"):
        options.append("--unsafe-no-sandbox")
    return options + (["--prices", recorded["prices"]] if "prices" in recorded else [])
