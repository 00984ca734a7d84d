"""Stop and pause a run while it is played: by Ctrl-C, by ``Switches`` in this process, and by requests in the store.

A request is an event of the kind ``control`` in the scope ``run``. It reaches all processes that play the run.
``planbook watch`` writes requests, and the driver of worker processes writes the request "stop" for its workers.
"""

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Literal

from pydantic import ConfigDict, JsonValue

from planbook.config import InvocationSettings
from planbook.errors import BadRun
from planbook.planner import INVOCATION, Body, BudgetEnded, EpisodeStopped, EventKind, JournalFailed
from planbook.runs import Run
from planbook.store import Store

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.3
"""Interval at which the requests in the store are read."""
SCOPE = "run"
"""The scope of requests."""
MAX_ATTEMPTS = 20
"""Maximum number of attempts to write an event. An attempt fails if another process uses the event's number first."""
Request = Literal["pause", "go on", "stop", "finish calls"]
"""A request, as it is recorded. "go on" ends a pause."""


class Switches:
    """Stops and pauses the episodes in this process, which call ``guard`` before every action and model call.

    Any thread may call the methods.
    """

    def __init__(self) -> None:
        self._stop, self._cut, self._go = threading.Event(), threading.Event(), threading.Event()
        self._go.set()

    @property
    def stopped(self) -> bool:
        """True after ``stop`` or ``finish_calls`` was called. This cannot be undone."""
        return self._stop.is_set()

    @property
    def cuts_calls(self) -> bool:
        """True after ``stop`` was called: model calls in progress are cut off, too."""
        return self._cut.is_set()

    @property
    def paused(self) -> bool:
        """True while episodes must wait, until ``unpause`` is called."""
        return not self._go.is_set() and not self.stopped

    def cuts_calls_after_pause(self) -> bool:
        """Wait until a pause is over. Return True if a model must cut off its call. Models call this regularly."""
        self._go.wait()
        return self.cuts_calls

    def stop(self) -> None:
        """Make the running episodes end at their next action or model call. No other episode is begun."""
        self._cut.set()
        self.finish_calls()

    def finish_calls(self) -> None:
        """Like ``stop``, but wait for the replies to model calls in progress, since they are paid for anyway."""
        self._stop.set()
        self._go.set()

    def pause(self) -> None:
        """Make episodes wait before their next action or model call, unless they are already ending."""
        if not self.stopped:
            self._go.clear()

    def unpause(self) -> None:
        """End a pause."""
        self._go.set()

    def guard(self) -> None:
        """Wait until a pause is over. Raises EpisodeStopped if the run must end."""
        self._go.wait()
        if self.stopped:
            raise EpisodeStopped


class RequestListener:
    """Reads the requests in the store while ``listening``, and sets the switches accordingly.

    Requests to earlier invocations of the run are skipped. If several processes play a run, one of them is the leader,
    which records pauses. The other processes pass ``leader_is_running``. Once it returns False, ``abandoned`` becomes
    True, and the process stops.
    """

    def __init__(self, run: Run, leader_is_running: Callable[[], bool] | None = None) -> None:
        self.switches = Switches()
        self.stopped = False
        """True if a request in the store, not this process, stopped the run."""
        self.abandoned = False
        """True if the leader has ended before this process was stopped."""
        self._run, self._leader_is_running = run, leader_is_running
        self._handled = count_handled_requests(run.store)
        self._stop_clock = run.meter.stop_clock if leader_is_running else run.pause
        self._start_clock = run.meter.start_clock if leader_is_running else run.unpause

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Read requests in a background thread until the block ends, and once more at its end."""
        with call_every(POLL_SECONDS, self._handle_requests):
            yield
        self._handle_requests()  # workers in other processes may have obeyed a request before this process read it

    def _handle_requests(self) -> None:
        with suppress(BadRun):  # if the database is lost, the episodes end at their next event
            requests: list[Any] = [*self._run.store.events(SCOPE, "control")]
            for request in requests[self._handled :]:
                self._handled += 1
                self._handle(request.body["do"])
            if self._leader_is_running and not self.switches.stopped and not self._leader_is_running():
                self.abandoned = True
                self.switches.finish_calls()

    def _handle(self, request: Request) -> None:
        switches = self.switches
        if request in ("stop", "finish calls"):
            self.stopped |= not switches.stopped  # otherwise this process made the request, or was stopped before
            (switches.stop if request == "stop" else switches.finish_calls)()
        elif request == "pause" and not (switches.paused or switches.stopped):
            switches.pause()
            self._stop_clock()
        elif request == "go on" and switches.paused:
            self._start_clock()
            switches.unpause()


def count_handled_requests(store: Store) -> int:
    """Return the number of requests before the current invocation, which began with the last event with ``jobs``."""
    seen = handled = 0
    for event in store.events(SCOPE, ("control", INVOCATION)):
        seen += event.kind == "control"
        handled = seen if "jobs" in event.body else handled
    return handled


def send_request(store: Store, request: Request) -> None:
    """Add a request to a store. Raises BadRun if it cannot be written."""
    append_event(store, SCOPE, "control", {"do": request})


def append_event(store: Store, scope: str, kind: EventKind, body: Body) -> None:
    """Add an event with the next number of its scope and kind, even while other processes add such events.

    Raises BadRun if the event cannot be written.
    """
    for attempts_left in reversed(range(MAX_ATTEMPTS)):
        with suppress(BadRun) if attempts_left else nullcontext():
            store.put(scope, kind, sum(1 for _ in store.events(scope, kind)), body)
            return


@contextmanager
def call_every(seconds: float, function: Callable[[], object]) -> Iterator[None]:
    """Call a function every ``seconds`` seconds, in a background thread, until the block ends."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(seconds):
            function()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


# Threads that Ctrl-C stops


REPORT_SECONDS = 0.2
"""Maximum number of seconds between two calls of ``poll`` while threads are running."""
STOPPING = "Stopping at the next action or model call. Press Ctrl-C again to stop immediately."
ThreadMessage = BaseException | bool
"""A message from a thread: the error that ended it, True if it has finished, or False if it only asks for ``poll``."""


def in_threads(
    count: int,
    work: Callable[[Callable[[], None]], None],
    stop: Callable[[], None],
    poll: Callable[[], None] = lambda: None,
    finish_calls: Callable[[], None] = lambda: None,
) -> bool:
    """Run ``work`` in ``count`` threads. Return False if it was stopped before it was finished.

    ``poll`` is called in the calling thread, at regular intervals. The argument of ``work`` is a function with which a
    thread can ask for another call of ``poll``. After Ctrl-C or an error in a thread, ``stop`` is called, which must
    make the work end soon. If the error is BudgetEnded or EpisodeStopped, ``finish_calls`` is called instead: the model
    calls in progress fit into the budget and will be paid for. When all threads have ended, the error is raised in the
    calling thread, unless it is EpisodeStopped. A second Ctrl-C raises KeyboardInterrupt immediately, although threads
    may still be running.
    """
    messages: queue.SimpleQueue[ThreadMessage] = queue.SimpleQueue()
    threads = [threading.Thread(target=_run_work, args=(work, messages), daemon=True) for _ in range(count)]
    all_ended = False
    stopped_by: EpisodeStopped | BudgetEnded | None = EpisodeStopped()
    try:
        for thread in threads:
            thread.start()
        stopped_by = _wait_for_threads(count, messages, poll, finish_calls)
        all_ended = True
    except KeyboardInterrupt:
        LOG.warning(STOPPING)
    finally:
        if not all_ended:
            stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    poll()
    if isinstance(stopped_by, BudgetEnded):
        raise stopped_by
    return stopped_by is None


def _run_work(work: Callable[[Callable[[], None]], None], messages: "queue.SimpleQueue[ThreadMessage]") -> None:
    """Call ``work``, and send a message when it ends: True, or the error that it raises."""
    try:
        work(lambda: messages.put(False))
        messages.put(True)
    except JournalFailed as failed:
        messages.put(failed.__cause__ or failed)
    except BaseException as error:
        messages.put(error)


def _wait_for_threads(
    count: int, messages: "queue.SimpleQueue[ThreadMessage]", poll: Callable[[], None], finish_calls: Callable[[], None]
) -> EpisodeStopped | BudgetEnded | None:
    """Wait until all threads have ended. Return the error that stopped the first of them, or None.

    When one is stopped, ``finish_calls`` is called, so that the others end, too. If a thread fails, raise its error.
    """
    stopped_by: EpisodeStopped | BudgetEnded | None = None
    while count:
        try:
            message = messages.get(timeout=REPORT_SECONDS)
        except queue.Empty:
            message = False
        if isinstance(message, EpisodeStopped | BudgetEnded):
            stopped_by = stopped_by or message
            finish_calls()
        elif isinstance(message, BaseException):
            raise message
        count -= message is not False
        poll()
    return stopped_by


class Execution(InvocationSettings):
    """Settings of one command that plays a run: how many episodes at a time, where, with which budget and sandbox.

    ``switches`` stops and pauses the run from another thread of this process.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    switches: Switches | None = None

    def recorded_settings(self) -> dict[str, JsonValue]:
        """Return the settings that the run records."""
        unsafe: dict[str, JsonValue] = {"unsafe_no_sandbox": True} if self.unsafe_no_sandbox else {}
        return {"jobs": self.jobs, "executor": self.executor, **unsafe}
