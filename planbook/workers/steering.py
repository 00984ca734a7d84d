"""Stop and pause a run while it is played: by switches in this process, and by requests in the run's store.

A request is an event of the kind ``control`` in the scope ``run``, numbered from 0. ``planbook watch`` writes requests,
and the driver of worker processes writes "stop" for them.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Literal

from pydantic import ConfigDict, JsonValue

from planbook.config import Invocation
from planbook.errors import BadRun
from planbook.planner import Body, EpisodeStopped, EventKind
from planbook.runs import Run
from planbook.store import Store

POLL_SECONDS = 0.3
"""Seconds between two readings of the requests."""
SCOPE = "run"
TRIES = 20
"""Attempts to write a request while other processes write requests too."""
Request = Literal["pause", "go on", "stop"]


class Steering:
    """Switches that any thread may turn. Every episode checks them before each action and model call."""

    def __init__(self) -> None:
        self._stop, self._go = threading.Event(), threading.Event()
        self._go.set()

    @property
    def stopped(self) -> bool:
        """True once the run must end. A stop is final."""
        return self._stop.is_set()

    @property
    def paused(self) -> bool:
        """True while episodes wait."""
        return not self._go.is_set() and not self.stopped

    def stops(self) -> bool:
        """Wait while paused, then return whether the run must end. Models call it before they retry a request."""
        self._go.wait()
        return self.stopped

    def stop(self) -> None:
        """Begin no further episode, and end those under way at their next action."""
        self._stop.set()
        self._go.set()

    def pause(self) -> None:
        """Make episodes wait before their next action or model call."""
        self._go.clear()

    def go_on(self) -> None:
        """End a pause."""
        self._go.set()

    def guard(self) -> None:
        """Wait while paused. Raises EpisodeStopped once stopped."""
        if self.stops():
            raise EpisodeStopped


class Control:
    """Turns the switches as the requests in the store demand, while it ``listens``.

    ``handled`` is the number of requests to skip; by default all that exist now. One of the processes that play a run
    ``leads`` and records pauses. The others stop, and are ``abandoned``, once ``is_played`` returns False.
    """

    def __init__(
        self,
        run: Run,
        steering: Steering | None = None,
        handled: int | None = None,
        *,
        leads: bool = True,
        is_played: Callable[[], bool] = lambda: True,
    ) -> None:
        self.steering = steering or Steering()
        self.stopped = False
        """True if a request from outside stopped the run."""
        self.abandoned = False
        """True if the process that leads has ended before this one was stopped."""
        self._run, self._is_played = run, is_played
        self._handled = len(requests(run.store)) if handled is None else handled
        self._stop_clock = run.pause if leads else run.meter.stop_clock
        self._start_clock = run.go_on if leads else run.meter.start_clock

    def listens(self) -> AbstractContextManager[None]:
        """Read requests in a background thread until the block ends."""
        return every(POLL_SECONDS, self._handle_requests)

    def _handle_requests(self) -> None:
        with suppress(BadRun):  # a lost database ends the episodes when they write
            for request in requests(self._run.store)[self._handled :]:
                self._handled += 1
                HANDLERS[request](self)
            if not self.steering.stopped and not self._is_played():
                self.abandoned = True
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
        self.stopped = self.stopped or not self.steering.stopped  # else this process made the request itself
        self.steering.stop()


HANDLERS: dict[Request, Callable[[Control], None]] = {
    "pause": Control._pause,
    "go on": Control._go_on,
    "stop": Control._stop,
}


def requests(store: Store) -> list[Request]:
    """Return all requests in a store, in order."""
    events: Any = store.events(SCOPE, "control")
    return [event.body["do"] for event in events]


def count_handled(store: Store) -> int:
    """Return the number of requests before the current invocation, which began with the last event with ``jobs``."""
    seen = handled = 0
    for event in store.events(SCOPE, ("control", "sitting")):
        seen += event.kind == "control"
        handled = seen if "jobs" in event.body else handled
    return handled


def request(store: Store, what: Request) -> None:
    """Add a request to a store. Raises BadRun if it cannot be written."""
    append(store, SCOPE, "control", {"do": what})


def append(store: Store, scope: str, kind: EventKind, body: Body) -> None:
    """Add an event after those of its kind, even while other processes add some. Raises BadRun if it cannot."""
    for left in reversed(range(TRIES)):
        try:
            store.put(scope, kind, sum(1 for _ in store.events(scope, kind)), body)
        except BadRun:
            if not left:
                raise
        else:
            return


@contextmanager
def every(seconds: float, do: Callable[[], object]) -> Iterator[None]:
    """Call ``do`` in a background thread until the block ends, each time after a number of seconds."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(seconds):
            do()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Hosting(Invocation):
    """Settings with which an invocation plays a run; ``steering`` stops and pauses this run only."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    steering: Steering | None = None

    def recorded(self) -> dict[str, JsonValue]:
        """Return the settings that the run records, so that ``planbook watch`` can resume it with them."""
        recorded: dict[str, JsonValue] = {"jobs": self.jobs, "executor": self.executor}
        if self.unsafe_no_sandbox:
            recorded["unsafe_no_sandbox"] = True
        return recorded


def arguments(recorded: Mapping[str, Any]) -> list[str]:
    """Return the command line options for the settings that an invocation recorded."""
    options = ["--jobs", str(recorded["jobs"])] if recorded.get("jobs", 1) != 1 else []
    if recorded.get("executor", "threads") != "threads":
        options += ["--executor", recorded["executor"]]
    if recorded.get("unsafe_no_sandbox"):
        options.append("--unsafe-no-sandbox")
    return options
