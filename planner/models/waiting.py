"""Waiting that can be interrupted, and that all threads of a model do together."""

import threading
import time
from collections.abc import Callable

from planner.errors import EpisodeStopped

Stopped = Callable[[], bool]
LOOK_EVERY = 0.2
"""Seconds between two looks at whether the run was stopped."""


def never() -> bool:
    """The answer of a run that nothing stops."""
    return False


def pause(seconds: float, stopped: Stopped) -> None:
    """Wait. Raises EpisodeStopped as soon as the run is stopped."""
    until = time.monotonic() + seconds
    while True:
        if stopped():
            raise EpisodeStopped("the run was stopped while it waited for a model")
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, LOOK_EVERY))


class Gate:
    """Lets so many threads through at once, and none before a time that any of them may set later."""

    def __init__(self, at_once: int, stopped: Stopped) -> None:
        self._places, self._stopped = threading.Semaphore(at_once), stopped
        self._lock, self._not_before = threading.Lock(), 0.0

    def close_for(self, seconds: float) -> None:
        """Nobody enters for so many seconds: the server asked for that."""
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def __enter__(self) -> None:
        """Wait for a place and for the time. Raises EpisodeStopped."""
        while not self._places.acquire(timeout=LOOK_EVERY):
            pause(0, self._stopped)
        try:
            while (left := self._not_before - time.monotonic()) > 0:
                pause(left, self._stopped)
            pause(0, self._stopped)
        except BaseException:
            self._places.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._places.release()
