"""Sandboxes whose workers are killed at chosen calls: what has to come out as if nobody had been."""

import os
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from itertools import count
from typing import Any, Literal

from pydantic import JsonValue

from planbook.sandbox import CellResult, Sandbox, Session, bound_names
from planbook.sandbox.process import was_killed

How = Literal["asked", "answered", "sent", "computing", "between"]
HOWS: tuple[How, ...] = ("asked", "answered", "sent", "computing", "between")
"""When the worker dies: before its call is carried out; after that, and before it is answered; when the answer is sent,
and not yet read; some milliseconds after that; after the end of the cell that made the call."""
CHANCE = "import random, time\nprint([random.random(), random.getrandbits(64), time.time()])"


def worker_of(session: Session) -> int:
    """The process of a session's worker; 0 if it has none now."""
    return session._worker._pid if session._worker is not None else 0


def kill_worker(session: Session, how: signal.Signals = signal.SIGKILL) -> None:
    """As the kernel does it when memory is short; the worker may be dead already."""
    if pid := worker_of(session):
        with suppress(ProcessLookupError):
            os.kill(pid, how)


@dataclass
class Reaper:
    """Kills the workers of sessions. ``deaths`` says which of all their calls are deadly, counted from 0, and how."""

    deaths: Callable[[int], How | None] = lambda number: None
    carried: list[tuple[str, Any, Any]] = field(default_factory=list)
    """Every call that a host function carried out."""
    left: list[str] = field(default_factory=list)
    """What stood in each session when it was closed: its names with their values, its next random numbers, its time."""
    dead: int = 0
    _numbers: Iterable[int] = field(default_factory=count)

    def open(
        self,
        opener: Callable[..., Session],
        functions: Mapping[str, Callable[..., object]],
        meanwhile: Callable[[], None] | None = None,
        **settings: Any,
    ) -> Session:
        """A session whose worker dies as it is told."""
        doomed = _Doomed(self)
        deadly = {name: doomed.around(name, function) for name, function in functions.items()}
        session = opener(deadly, meanwhile=doomed.watch(meanwhile), **settings)
        doomed.take(session)
        return session

    def next(self) -> How | None:
        """What happens at the call that comes now."""
        return self.deaths(next(iter(self._numbers)))


class _Doomed:
    """One session whose worker dies."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper, self._names = reaper, dict[str, None]()
        self._how: How | None = None

    def take(self, session: Session) -> None:
        """What is done to the session from outside goes through this object."""
        self._session, self._run, self._close = session, session.run, session.close
        session.run, session.close = self.run, self.close  # type: ignore[method-assign]

    def run(self, code: str, name: str = "cell") -> CellResult:
        result = self._run(code, name)
        if result.fault is None or result.fault.kind != "check":
            self._names |= dict.fromkeys(sorted(bound_names(code)))
        self._die("between")
        self._how = None
        return result

    def close(self) -> None:
        if not self._session._closed:
            self._how = None
            self._reaper.left.append(self._run(look(self._names), "look").output)
        self._close()

    def around(self, name: str, function: Callable[..., object]) -> Callable[..., object]:
        @wraps(function)
        def call(*args: JsonValue, **kwargs: JsonValue) -> object:
            how = self._how = self._reaper.next()
            self._die("asked")
            self._reaper.carried.append((name, args, kwargs))
            try:
                return function(*args, **kwargs)
            finally:
                self._how = how  # a nested plan may have called in between
                self._die("answered")
                if how == "sent":
                    kill_worker(self._session, signal.SIGSTOP)

        return call

    def watch(self, meanwhile: Callable[[], None] | None) -> Callable[[], None]:
        def look() -> None:
            if meanwhile is not None:
                meanwhile()
            self._die("sent", "computing")

        return look

    def _die(self, *hows: How) -> None:
        if self._how in hows:
            self._how = None
            self._reaper.dead += 1
            kill_worker(self._session)


class DeadlySandbox(Sandbox):
    """A sandbox whose sessions a reaper opens."""

    def __init__(self, reaper: Reaper, **settings: Any) -> None:
        self.reaper = Reaper()  # that of the self-test
        super().__init__(**settings)
        self.reaper = reaper

    def session(self, functions: Mapping[str, Callable[..., object]], **settings: Any) -> Session:
        """Open a session."""
        return self.reaper.open(super().session, functions, **settings)


def kernel_tells() -> bool:
    """Whether this machine says how a process ended that is no child: Linux does from 6.15 on."""
    child = os.fork()
    if child == 0:
        signal.pause()
    pidfd = os.pidfd_open(child)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told = was_killed(pidfd)
    os.close(pidfd)
    return told


def look(names: Iterable[str]) -> str:
    """A cell that prints the values of names that exist, the next random numbers and the time."""
    shown = (f"try:\n    print({name!r}, repr({name}))\nexcept NameError:\n    pass" for name in names)
    return "\n".join([*shown, CHANCE])
