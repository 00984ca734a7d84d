"""The plan's time: logical, the same on every run."""

from collections.abc import Callable
from typing import Protocol

MICROSECONDS = 1_000_000


class Clock(Protocol):
    """What ``time`` and ``datetime`` in plan code are built on."""

    def now(self) -> float:
        """Seconds since 1970, UTC; each reading is one microsecond later than the one before."""

    def sleep(self, seconds: float) -> None:
        """Let that much logical time pass; nothing waits."""


class LogicalClock:
    """The clock that the host sets with each frame; between frames only readings advance it."""

    def __init__(self, set_to: int, ask_sleep: Callable[[float], None]) -> None:
        self.set_to = set_to
        self._readings = 0
        self._ask_sleep = ask_sleep

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        self._readings += 1
        return (self.set_to + self._readings) / MICROSECONDS

    def sleep(self, seconds: float) -> None:
        """Ask the host to advance the clock. Raises as ``time.sleep`` does."""
        if type(seconds) not in (int, float):
            raise TypeError(f"sleep() takes a number of seconds, not {type(seconds).__name__}")
        if not 0 <= seconds < float("inf"):
            raise ValueError("sleep() takes a length that is finite and not negative")
        self._ask_sleep(seconds)
