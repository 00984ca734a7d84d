"""The worker's end of the channel, as the plan's functions, print and clock use it."""

import builtins
import os
import socket
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any, NamedTuple

from planbook.sandbox.protocol import MAX_FROM_WORKER, MAX_MODULE, MAX_STRING, PREFIX, FrameTooLong, pack
from planbook.sandbox.worker.clock import CLOCK
from planbook.sandbox.worker.faults import MEMORY
from planbook.sandbox.worker.objects import refresh
from planbook.sandbox.worker.values import SCALARS, decode, encode, exact, printable, to_bytes

SPARE_DEPTH = 100
"""Levels of recursion to read an answer in: a plan that has used up its own must not lose one."""
OUT_OF_MEMORY = to_bytes(["end", None, [MEMORY]])
"""Made beforehand: when it is needed, there may be no memory to make it."""


class Refusal(NamedTuple):
    """The host's "error"."""

    error: Exception


class Link:
    """The worker's end of the channel, as the plan's functions use it."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._file: str | None = None
        self.objects: dict[str, object] = {}

    def receive(self) -> list[Any]:
        """The next message of the host; the worker ends where there is none."""
        size = int.from_bytes(self._read(PREFIX))
        return decode(self._read(size).decode())  # type: ignore[no-any-return]

    def _read(self, size: int) -> bytes:
        """Read so many bytes, in one piece however they come in: what lies where in memory depends on it."""
        read = b""
        try:
            while len(read) < size:
                part = self._sock.recv(size - len(read), socket.MSG_WAITALL)
                read += part or os._exit(0)
        except OSError:
            os._exit(0)
        return read

    def send(self, payload: bytes) -> None:
        """Send one message. Where the host has hung up the worker ends, at once: a plan could catch an exception.

        Raises FrameTooLong.
        """
        frame = pack(payload, MAX_FROM_WORKER)
        try:
            self._sock.sendall(frame)
        except OSError:
            os._exit(0)

    def catch_up(self, changed: Mapping[str, object] | None, clock: int) -> None:
        """Take over what the host says with each frame: the attributes that changed, and the clock."""
        CLOCK.set_to = clock
        if changed:
            refresh(self.objects, changed)

    def running(self, file: str | None) -> None:
        """The file name of the code of the cell that runs, or None; only while one runs may plan code speak."""
        self._file = file

    def write(self, text: str) -> None:
        """Print: sent at once, so that it is kept whatever becomes of the cell."""
        if self._file is None:
            return
        for start in range(0, len(text), MAX_STRING):
            part = text[start : start + MAX_STRING]
            try:
                payload = encode(["print", part]).encode()
            except UnicodeEncodeError:
                payload = to_bytes(["print", printable(part)])
            self.send(payload)

    def call(self, name: str, parameters: list[str], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Have the host carry out a function. Raises what it says, or TypeError or ValueError for odd arguments."""
        line = self._line()
        if kwargs or not SCALARS.issuperset(map(type, args)):
            return self._ask(_checked(line, name, parameters, args, kwargs))
        try:
            payload = encode(["call", line, name, args, kwargs]).encode()
        except ValueError:
            payload = _checked(line, name, parameters, args, kwargs)
        return self._ask(payload)

    def _line(self) -> int | None:
        """The innermost line of the running cell's own source that led to this call."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self._file:
            frame = frame.f_back
        return None if frame is None else frame.f_lineno

    def sleep(self, seconds: float) -> None:
        """Have the host advance the clock."""
        self._ask(encode(["sleep", seconds]).encode())

    def source(self, module: str) -> tuple[str, bool] | None:
        """Ask the host for the source of a module and whether it is a package; None where it hands out none."""
        if self._file is None or len(module) > MAX_MODULE:
            return None
        found: Any = self._ask(encode(["import", module]).encode())
        return None if found is None else (found[0], found[1])

    def _ask(self, payload: bytes) -> object:
        if self._file is None:
            raise RuntimeError("no cell is running")
        depth = sys.getrecursionlimit()
        # RecursionError comes here, before anything is asked, where there would be no way back to the old limit.
        sys.setrecursionlimit(depth)
        sys.setrecursionlimit(depth + SPARE_DEPTH)
        try:
            self.send(payload)
            value = self._answered()
        except FrameTooLong:
            size = f"the arguments take {len(payload):,} bytes"
            raise ValueError(f"{size}; at most {MAX_FROM_WORKER:,} are allowed") from None
        finally:
            sys.setrecursionlimit(depth)
        if isinstance(value, Refusal):
            raise value.error
        return value

    def _answered(self) -> object:
        """What the host says to a request, which it may have carried out: an answer that is lost ends the worker."""
        try:
            kind, *answer, changed, clock = self.receive()
            self.catch_up(changed, clock)
            (value,) = answer if kind == "answer" else (Refusal(_exception(*answer)),)
        except MemoryError:
            self.send(OUT_OF_MEMORY)
            os._exit(1)
        except Exception:
            os._exit(1)
        return value


def _checked(
    line: int | None, name: str, parameters: list[str], args: tuple[object, ...], kwargs: dict[str, object]
) -> bytes:
    given = [(parameters[i] if i < len(parameters) else str(i + 1), value) for i, value in enumerate(args)]
    parts = []
    for parameter, value in [*given, *kwargs.items()]:
        try:
            parts.append(exact(value))
            to_bytes(parts[-1])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}(): argument {parameter!r} {error}") from None
    return to_bytes(["call", line, name, parts[: len(args)], dict(zip(kwargs, parts[len(args) :], strict=True))])


def _exception(kind: str, message: str) -> Exception:
    """The builtin of that name, where it is an exception that a message makes; else RuntimeError."""
    known = getattr(builtins, kind, None)
    if isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, MemoryError):
        try:
            return known(message)
        except TypeError:
            pass
    return RuntimeError(message)
