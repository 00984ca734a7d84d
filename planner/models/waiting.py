"""Wait for a model. The wait ends early if the run is stopped.

If a server limits the rate of requests, all threads that ask its model wait at one gate until it may be asked again.
"""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from pydantic import Field

from planbook.planner.errors import EpisodeStopped
from planbook.planner.types import Record

Item = TypeVar("Item")
IsStopped = Callable[[], bool]
"""A function that returns True if the run was stopped, and may raise BudgetEnded."""
CHECK_INTERVAL = 0.2
"""Number of seconds between two checks for a stopped run during a wait."""
QUIET_SECONDS = 30.0
"""If the first piece of a reply takes longer than this many seconds, the user is told."""
MAX_TIMEOUT = 1_000_000.0
"""Maximum length of a timeout in seconds (11 days). The operating system refuses longer ones."""


class Timeouts(Record):
    """Maximum seconds to wait until a server accepts a connection (``connect``) or sends more data (``idle``).

    The default of ``idle`` suits reasoning models, which may think for minutes before their first token, and slow local
    models, which may need minutes to read a prompt.
    """

    connect: float = Field(default=10.0, gt=0, le=MAX_TIMEOUT)
    idle: float = Field(default=300.0, gt=0, le=MAX_TIMEOUT)


DEFAULT_TIMEOUTS = Timeouts()
"""The timeouts that apply unless a run sets others."""


def never_stopped() -> bool:
    """Return False. This is an ``IsStopped`` function for a run that is never stopped."""
    return False


def pause(seconds: float, stopped: IsStopped) -> None:
    """Sleep for some seconds. Raises EpisodeStopped as soon as the run is stopped."""
    end = time.monotonic() + seconds
    while True:
        if stopped():
            raise EpisodeStopped("the run was stopped while it waited for a model")
        remaining = end - time.monotonic()
        if remaining <= 0:
            return
        time.sleep(min(remaining, CHECK_INTERVAL))


def read_in_thread(
    create: Callable[[], Iterable[Item]], stopped: IsStopped, on_quiet: Callable[[], None]
) -> Generator[Item]:
    """Read an iterable in another thread and yield its items, so that the wait for an item can be interrupted.

    ``create`` is called in the other thread and returns the iterable. ``on_quiet`` is called once if the first item
    takes longer than ``QUIET_SECONDS``. After this generator is closed, the thread ends when it gets another item.
    Raises the exceptions of the iterable, or EpisodeStopped if the run is stopped.
    """
    items: queue.SimpleQueue[tuple[Item, ...] | BaseException] = queue.SimpleQueue()
    closed = threading.Event()
    threading.Thread(target=_read_into, args=(items, create, closed), daemon=True).start()
    may_be_quiet, start = True, time.monotonic()
    try:
        while True:
            pause(0, stopped)
            try:
                item = items.get(timeout=CHECK_INTERVAL)
            except queue.Empty:
                if may_be_quiet and time.monotonic() - start > QUIET_SECONDS:
                    may_be_quiet = False
                    on_quiet()
                continue
            if isinstance(item, BaseException):
                raise item
            if not item:
                return
            may_be_quiet = False
            yield item[0]
    finally:
        closed.set()


def _read_into(
    items: "queue.SimpleQueue[tuple[Item, ...] | BaseException]",
    create: Callable[[], Iterable[Item]],
    closed: threading.Event,
) -> None:
    """Put each item into the queue, in a tuple. At the end, put an empty tuple or the iterable's exception."""
    try:
        for item in create():
            items.put((item,))
            if closed.is_set():
                return
        items.put(())
    except BaseException as error:
        items.put(error)


class Gate:
    """A gate at which threads wait while it is closed. Any thread can close it for some time."""

    def __init__(self, stopped: IsStopped) -> None:
        self._stopped, self._lock, self._opens_at = stopped, threading.Lock(), 0.0

    def close_for(self, seconds: float) -> None:
        """Close the gate for at least this many seconds."""
        with self._lock:
            self._opens_at = max(self._opens_at, time.monotonic() + seconds)

    def wait(self) -> None:
        """Wait until the gate is open. Raises EpisodeStopped if the run is stopped."""
        while (remaining := self._opens_at - time.monotonic()) > 0:
            pause(remaining, self._stopped)
        pause(0, self._stopped)
