"""The plan's time: logical, the same on every run."""

import time
from collections.abc import Callable
from typing import Any

MICROSECONDS, NANOSECONDS = 1_000_000, 1_000
"""In a second; in a microsecond."""


class LogicalClock:
    """The clock that the host sets with each frame; between frames only readings advance it, by a microsecond each."""

    def __init__(self) -> None:
        self.set_to = 0
        self._readings = 0
        self.ask_sleep: Callable[[float], None] = lambda seconds: None

    def start(self) -> None:
        """Forget what was read so far."""
        self._readings = 0

    def microseconds(self) -> int:
        """Return the time since 1970, UTC."""
        self._readings += 1
        return self.set_to + self._readings

    def now(self) -> float:
        """Return the time since 1970, UTC, in seconds."""
        return self.microseconds() / MICROSECONDS

    def sleep(self, seconds: float) -> None:
        """Ask the host to advance the clock. Raises as ``time.sleep`` does."""
        if type(seconds) not in (int, float):
            raise TypeError(f"sleep() takes a number of seconds, not {type(seconds).__name__}")
        if not 0 <= seconds < float("inf"):
            raise ValueError("sleep() takes a length that is finite and not negative")
        self.ask_sleep(seconds)


CLOCK = LogicalClock()
"""The one of this process."""


def replace_time() -> None:
    """Have every function of ``time`` tell the logical clock. The zone is that of TZ."""
    real = {name: getattr(time, name) for name in ("gmtime", "localtime", "ctime", "asctime", "strftime")}

    def nanoseconds() -> int:
        return CLOCK.microseconds() * NANOSECONDS

    def of_seconds(name: str) -> Callable[..., Any]:
        return lambda seconds=None, /: real[name](CLOCK.now() if seconds is None else seconds)

    def asctime(t: Any = None, /) -> str:
        return str(real["asctime"](real["gmtime"](CLOCK.now()) if t is None else t))

    def strftime(format: str, t: Any = None, /) -> str:
        return str(real["strftime"](format, real["gmtime"](CLOCK.now()) if t is None else t))

    def clock_gettime(clk_id: int, /) -> float:
        return CLOCK.now()

    def clock_gettime_ns(clk_id: int, /) -> int:
        return nanoseconds()

    for function in (asctime, strftime, clock_gettime, clock_gettime_ns):
        setattr(time, function.__name__, as_builtin(function, function.__name__, "time"))
    for name in ("gmtime", "localtime", "ctime"):
        setattr(time, name, as_builtin(of_seconds(name), name, "time"))
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, CLOCK.now)
        setattr(time, f"{name}_ns", nanoseconds)
    time.sleep = CLOCK.sleep  # type: ignore[assignment]


def as_builtin(function: Any, name: str, module: str = "builtins") -> Any:
    """Return the function, called in messages what the plan calls it."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    return function
