"""Wait for a model, until a time limit or a stop of the run. Threads that ask the same model may wait together."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from pydantic import Field

from planbook.planner.errors import EpisodeStopped
from planbook.planner.types import Record

Item = TypeVar("Item")
Stopped = Callable[[], bool]
"""Returns True if the run was stopped. It may raise BudgetEnded, which ends the wait as well."""
CHECK_INTERVAL = 0.2
"""Seconds between two checks for a stop of the run."""
QUIET_SECONDS = 30.0
"""Seconds of waiting for the first data from a server, after which the user gets a message."""
MAX_TIMEOUT = 1_000_000.0
"""Maximum of a timeout in seconds, 11 days: the operating system refuses longer ones."""


class Timeouts(Record):
    """Seconds to wait for a model's server: to accept a connection, and to send data while it answers.

    The default of ``idle`` suits reasoning models, which may think for minutes before their first token, and slow local
    models, which may need minutes to read a prompt.
    """

    connect: float = Field(default=10.0, gt=0, le=MAX_TIMEOUT)
    idle: float = Field(default=300.0, gt=0, le=MAX_TIMEOUT)


USUAL_TIMEOUTS = Timeouts()
"""The default timeouts."""


def never_stopped() -> bool:
    """Return False, for a run that is never stopped."""
    return False


def pause(seconds: float, stopped: Stopped) -> None:
    """Sleep. Raises EpisodeStopped as soon as the run is stopped."""
    until = time.monotonic() + seconds
    while True:
        if stopped():
            raise EpisodeStopped("the run was stopped while it waited for a model")
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, CHECK_INTERVAL))


def from_thread(make: Callable[[], Iterable[Item]], stopped: Stopped, quiet: Callable[[], None]) -> Generator[Item]:
    """Yield the items of an iterable that is read in another thread, so that waiting can be interrupted.

    ``quiet`` is called once if the first item takes longer than ``QUIET_SECONDS``. When this generator is
    closed, the thread ends with the next item. Raises the exceptions of the iterable, and EpisodeStopped.
    """
    items: queue.SimpleQueue[tuple[Item, ...] | BaseException] = queue.SimpleQueue()
    closed = threading.Event()
    threading.Thread(target=_read_into, args=(items, make, closed), daemon=True).start()
    warned, start = False, time.monotonic()
    try:
        while True:
            pause(0, stopped)
            try:
                item = items.get(timeout=CHECK_INTERVAL)
            except queue.Empty:
                if not warned and time.monotonic() - start > QUIET_SECONDS:
                    warned = True
                    quiet()
                continue
            if isinstance(item, BaseException):
                raise item
            if not item:
                return
            warned = True
            yield item[0]
    finally:
        closed.set()


def _read_into(
    items: "queue.SimpleQueue[tuple[Item, ...] | BaseException]",
    make: Callable[[], Iterable[Item]],
    closed: threading.Event,
) -> None:
    """Put each item into the queue as a tuple of one; at the end, an empty tuple or the exception."""
    try:
        for item in make():
            items.put((item,))
            if closed.is_set():
                return
        items.put(())
    except BaseException as error:
        items.put(error)


class Gate:
    """A gate that stays closed until a time that any thread may set."""

    def __init__(self, stopped: Stopped) -> None:
        self._stopped, self._lock, self._not_before = stopped, threading.Lock(), 0.0

    def close_for(self, seconds: float) -> None:
        """Close the gate for at least this many seconds."""
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def wait(self) -> None:
        """Wait until the gate is open. Raises EpisodeStopped."""
        while (left := self._not_before - time.monotonic()) > 0:
            pause(left, self._stopped)
        pause(0, self._stopped)
