"""What would differ from run to run, replaced for the whole process: time, random numbers, its own number, its threads.

This is no guard: a plan that looks for the machine's own clock may find it, and harms its own replay.
"""

import _random
import _thread
import ctypes
import gc
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from planbook.sandbox.worker.clock import CLOCK, as_builtin, replace_time

_LATER = frozenset({"threading", "random", "datetime", "queue", "uuid"})
NODE = 0x020000000001
"""The hardware address that ``uuid.uuid1`` tells: one that no device has."""


def make_deterministic() -> None:
    """Replace what differs, and what copies it at its import. Raises RuntimeError if that was imported before."""
    if early := _LATER & sys.modules.keys():
        raise RuntimeError(f"imported too early: {', '.join(sorted(early))}")
    replace_time()
    os.urandom = os.getrandom = _entropy
    for name in ("get_ident", "get_native_id", "_get_main_thread_ident"):
        setattr(_thread, name, lambda: 1)
    _random.Random = SeededRandom  # type: ignore[misc]
    import datetime
    import queue
    import threading
    import uuid

    _set_in_class(datetime.datetime, "now", _now)
    _set_in_class(datetime.datetime, "utcnow", _utcnow)
    uuid._generate_time_safe = uuid._UuidCreate = None  # type: ignore[attr-defined]
    uuid._node = NODE  # type: ignore[attr-defined]
    threading.Condition.wait = _wait  # type: ignore[method-assign]
    threading.Thread.start = _start  # type: ignore[method-assign]
    queue.SimpleQueue = queue._PySimpleQueue  # type: ignore[attr-defined, misc]


def _set_in_class(cls: type, name: str, function: Callable[..., Any]) -> None:
    """Set a class method of a class written in C, which Python refuses to: the clock is built in there."""
    (variables,) = gc.get_referents(vars(cls))
    variables[name] = classmethod(as_builtin(function, name))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def _now(cls: Any, tz: Any = None) -> Any:
    """Return the current date and time."""
    return cls.fromtimestamp(CLOCK.now(), tz)


def _utcnow(cls: Any) -> Any:
    """Return the current date and time, UTC."""
    return cls.utcfromtimestamp(CLOCK.now())


def hide_process() -> None:
    """Have a worker tell the same number of its own process as every other."""
    os.getpid = lambda: 1
    os.getppid = lambda: 0


class SeededRandom(_random.Random):
    """What ``random.Random`` is derived from; without a seed it takes the next number of the session's own."""

    def __new__(cls, *_seed: Any, **_options: Any) -> "SeededRandom":
        """Make a generator, seeded in a moment."""
        made = super().__new__(cls)
        _seed_by_number(made, 0)
        return made

    def seed(self, a: Any = None, /) -> None:
        """Seed the generator."""
        super().seed(_ENTROPY.getrandbits(64) if a is None else a)


_seed_by_number: Callable[[Any, int], None] = _random.Random.seed
_ENTROPY = _random.Random(0)


def seed(number: int) -> None:
    """Seed all random numbers of a session."""
    import random

    _seed_by_number(_ENTROPY, number + 1)
    _seed_by_number(random._inst, number)


def _entropy(size: int, flags: int = 0) -> bytes:
    return _ENTROPY.getrandbits(8 * size).to_bytes(size) if size else b""


def _wait(self: object, timeout: float | None = None) -> bool:
    """Stand for ``Condition.wait``: no other thread will ever notify it."""
    if timeout is None:
        raise RuntimeError("this would wait for another thread, and there is none")
    CLOCK.sleep(max(timeout, 0.0))
    return False


def _start(self: object) -> NoReturn:
    raise RuntimeError("can't start new thread: plans run in one")
