"""Make runs repeatable: replace the time, random numbers, the process id and threads, which differ between runs.

With the replacements, a plan behaves in a replay as in its first run. They are not a security measure: a plan that
reads the machine's real clock harms only its own replay.
"""

import _random
import _thread
import ctypes
import gc
import operator
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

MICROSECONDS_PER_SECOND, NANOSECONDS_PER_MICROSECOND = 1_000_000, 1_000


class LogicalClock:
    """The clock that plans see, in microseconds since 1970, UTC.

    Messages from the host set ``host_time``. In addition, each reading of the clock advances it by one microsecond.
    """

    def __init__(self) -> None:
        self.host_time = 0
        self._readings = 0
        self.request_sleep: Callable[[float], None] = lambda seconds: None

    def start(self) -> None:
        """Forget the readings before the session."""
        self._readings = 0

    def microseconds(self) -> int:
        """Return the time since 1970 in microseconds, and count a reading."""
        self._readings += 1
        return self.host_time + self._readings

    def now(self) -> float:
        """Return the time since 1970 in seconds."""
        return self.microseconds() / MICROSECONDS_PER_SECOND

    def sleep(self, seconds: float) -> None:
        """Ask the host to advance the clock. Raises ValueError for a negative, infinite or NaN length."""
        length = float(seconds) if isinstance(seconds, float) else operator.index(seconds)
        if not 0 <= length < float("inf"):
            raise ValueError(f"sleep length must be {'non-negative' if length < 0 else 'finite'}")
        self.request_sleep(length)


CLOCK = LogicalClock()
"""The clock of this process."""


def replace_time() -> None:
    """Make every function of ``time`` use the logical clock. The time zone comes from the environment variable TZ."""
    real = {name: getattr(time, name) for name in ("gmtime", "localtime", "ctime", "asctime", "strftime")}

    def nanoseconds() -> int:
        return CLOCK.microseconds() * NANOSECONDS_PER_MICROSECOND

    def with_clock(name: str) -> Callable[..., Any]:
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
        setattr(time, function.__name__, builtin_function(function, function.__name__, "time"))
    for name in ("gmtime", "localtime", "ctime"):
        setattr(time, name, builtin_function(with_clock(name), name, "time"))
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, CLOCK.now)
        setattr(time, f"{name}_ns", builtin_function(nanoseconds, f"{name}_ns", "time"))
    as_builtin(LogicalClock.sleep, "sleep", "time")
    time.sleep = CLOCK.sleep  # type: ignore[assignment]


def as_builtin(function: Any, name: str, module: str = "builtins") -> Any:
    """Rename a function, so that messages show the name that plans use, and return the function."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    return function


class ReplacedBuiltin:
    """A function that replaces one written in C. Like a C function, it does not become a method in a class."""

    __slots__ = ("__qualname__", "__weakref__")
    __qualname__: str

    def __repr__(self) -> str:
        return f"<built-in function {self.__qualname__}>"

    def __reduce__(self) -> str:
        """Return the name, so that ``copy`` and ``deepcopy`` return the function itself."""
        return self.__qualname__


def builtin_function(function: Any, name: str, module: str = "builtins") -> Any:
    """Return a ReplacedBuiltin that calls a function.

    It is the only instance of a class whose ``__call__`` is the function, so that a call needs only one frame.
    """
    call = staticmethod(as_builtin(function, name, module))
    members = {"__call__": call, "__name__": name, "__module__": module, "__doc__": function.__doc__, "__slots__": ()}
    result = type("builtin_function_or_method", (ReplacedBuiltin,), members)()
    result.__qualname__ = name
    return result


_COPYING_MODULES = frozenset({"threading", "random", "datetime", "queue", "uuid"})
"""Modules that import functions of other modules by name, for example ``from time import monotonic``. They must be
imported after the functions are replaced.
"""
_HIDDEN_MODULES = ("_uuid", "_queue")
"""C modules that are hidden, since they bypass the replacements and Python works without them. Each would also add five
memory mappings, which every fork has to copy.
"""
NODE = 0x020000000001
"""The hardware address that ``uuid.uuid1`` uses. No device has this address."""


def make_deterministic() -> None:
    """Apply all replacements. Raises RuntimeError if one of the _COPYING_MODULES has already been imported."""
    if early := _COPYING_MODULES & sys.modules.keys():
        raise RuntimeError(f"imported too early: {', '.join(sorted(early))}")
    replace_time()
    os.urandom = os.getrandom = _entropy
    for name in ("get_ident", "get_native_id", "_get_main_thread_ident"):
        setattr(_thread, name, lambda: 1)
    _random.Random = SeededRandom  # type: ignore[misc]
    sys.modules.update(dict.fromkeys(_HIDDEN_MODULES))  # type: ignore[arg-type]
    import datetime
    import threading
    import uuid

    set_in_class(datetime.datetime, "now", classmethod(as_builtin(_now, "now")))
    set_in_class(datetime.datetime, "utcnow", classmethod(as_builtin(_utcnow, "utcnow")))
    uuid._node = NODE  # type: ignore[attr-defined]
    threading.Condition.wait = _wait  # type: ignore[method-assign]
    threading.Thread.start = _start  # type: ignore[method-assign]


def set_in_class(cls: type, name: str, value: object) -> None:
    """Replace an attribute of a class that is written in C, which ``setattr`` does not allow."""
    (variables,) = gc.get_referents(vars(cls))
    variables[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def _now(cls: Any, tz: Any = None) -> Any:
    """Return the current date and time."""
    return cls.fromtimestamp(CLOCK.now(), tz)


def _utcnow(cls: Any) -> Any:
    """Return the current date and time, UTC."""
    return cls.utcfromtimestamp(CLOCK.now())


def hide_process() -> None:
    """Make every worker report the same process id."""
    os.getpid = lambda: 1
    os.getppid = lambda: 0


class SeededRandom(_random.Random):
    """Replaces the base class of ``random.Random``. The default seed is the session's next random number."""

    def __new__(cls, *_seed: Any, **_options: Any) -> "SeededRandom":
        """Create a generator with the seed 0, which is fast. ``__init__`` seeds it again."""
        generator = super().__new__(cls)
        _seed_by_number(generator, 0)
        return generator

    def seed(self, a: Any = None, /) -> None:
        """Seed the generator with ``a``, or with the session's next random number if ``a`` is None."""
        super().seed(_ENTROPY.getrandbits(64) if a is None else a)


as_builtin(SeededRandom, "Random", "_random")
_seed_by_number: Callable[[Any, int], None] = _random.Random.seed
_ENTROPY = _random.Random(0)


def seed(number: int) -> None:
    """Seed the session's random number generators, including numpy's global one if numpy is loaded."""
    import random

    _seed_by_number(_ENTROPY, number + 1)
    _seed_by_number(random._inst, number)
    if numpy_random := sys.modules.get("numpy.random"):
        numpy_random.seed(number % 2**32)


def _entropy(size: int, flags: int = 0) -> bytes:
    return _ENTROPY.getrandbits(8 * size).to_bytes(size) if size else b""


def _wait(self: object, timeout: float | None = None) -> bool:
    """Replace ``Condition.wait``. No other thread can notify this one, so the clock simply advances by the timeout."""
    if timeout is None:
        raise RuntimeError("this would wait for another thread, and there is none")
    CLOCK.sleep(max(timeout, 0.0))
    return False


def _start(self: object) -> NoReturn:
    """Replace ``Thread.start``."""
    raise RuntimeError("can't start new thread: plans run in one thread")
