"""The worker's end of the channel, and the functions and objects of the host that plans see."""

import builtins
import copy
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, NamedTuple, NoReturn, Self

from planbook.sandbox.protocol import MAX_FROM_WORKER, MAX_MODULE, MAX_STRING, PREFIX, FrameTooLong, pack
from planbook.sandbox.worker.determinism import CLOCK
from planbook.sandbox.worker.results import MEMORY, SCALARS, decode, encode, exact, printable, to_bytes

# Functions, objects and records.

Call = Callable[[tuple[object, ...], dict[str, object]], object]


class HostFunction:
    """A function that the host carries out; a value like any other, so it can be mapped, wrapped and passed on.

    ``name`` may be dotted: as of a method, ``__name__`` is its last part and ``__qualname__`` the whole.
    """

    __slots__ = ("__name__", "__qualname__", "_call_")
    __name__: str
    __qualname__: str
    _call_: Call

    def __init__(self, name: str, call: Call) -> None:
        object.__setattr__(self, "__name__", name.rpartition(".")[2])
        object.__setattr__(self, "__qualname__", name)
        object.__setattr__(self, "_call_", call)

    def __copy__(self) -> Self:
        """Itself, as copies of Python's functions are."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        """Ask the host."""
        return self._call_(args, kwargs)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self.__qualname__} is read-only; keep the value in a variable of your own")

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"


HostFunction.__doc__ = None
"""What a plan reads as the doc of one of its functions; what they do is in its prompt."""


class ReadOnly:
    """An object whose attributes only the host sets."""

    __slots__ = ("__dict__", "_title_")
    _title_: str

    def __init__(self, name: str, members: Mapping[str, object]) -> None:
        object.__setattr__(self, "_title_", name)
        vars(self).update(members)

    def __getattr__(self, name: str) -> NoReturn:
        """Python comes here only for what is missing."""
        raise AttributeError(f"{self._title_} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self._title_}.{name} cannot be set: {self._title_} is read-only")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._title_}.{name} cannot be deleted: {self._title_} is read-only")

    def __dir__(self) -> list[str]:
        return sorted(vars(self))

    def __repr__(self) -> str:
        return f"<{self._title_}: {', '.join(dir(self))}>"


class HostObject(ReadOnly):
    """The object behind dotted names: ``agent`` with ``agent.go_to`` and ``agent.location``."""

    __slots__ = ()

    def __copy__(self) -> Self:
        """Itself: there is one, and a plan that copies its own objects may hold it in them."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


class Record(ReadOnly):
    """A dict given to the plan: its keys are attributes; ``record["key"]`` works too."""

    __slots__ = ()

    def __getitem__(self, key: str) -> object:
        return vars(self)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def __len__(self) -> int:
        return len(vars(self))

    def __contains__(self, key: object) -> bool:
        return key in vars(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is Record and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, object]) -> "Record":
        return Record(self._title_, copy.deepcopy({**vars(self)}, memo))  # the memo is shown what is copied


def refresh(objects: Mapping[str, object], changed: Mapping[str, object]) -> None:
    """Set attributes anew: dotted name to value."""
    for dotted, value in changed.items():
        name, _, attribute = dotted.partition(".")
        vars(objects[name])[attribute] = value


# The channel.

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
