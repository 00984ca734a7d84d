"""The worker's end of the channel to the host, and the host's functions and objects as plans see them.

The worker is the process in which plan code runs, in pieces that are called cells. The host is the process that opened
the session.
"""

import builtins
import copy
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, NoReturn, Self

from planbook.sandbox.protocol import (
    FIRST_CHUNK,
    MAX_MODULE_NAME,
    MAX_STRING,
    MAX_WORKER_FRAME,
    PREFIX_BYTES,
    FrameTooLong,
    Receiver,
    pack,
)
from planbook.sandbox.worker.determinism import CLOCK
from planbook.sandbox.worker.results import MEMORY_FAULT, as_json_value, encode_json, escape_surrogates, parse_json

CallHandler = Callable[[tuple[object, ...], dict[str, object]], object]
"""Takes the positional and the keyword arguments of a call, and returns its result."""


class ReadOnly:
    """An object whose attributes only the host can set.

    ``copy`` and ``deepcopy`` return it unchanged, unless it is a ``PlanRecord``.
    """

    __slots__ = ("__dict__", "_title_")
    _title_: str

    def __init__(self, name: str, members: Mapping[str, object]) -> None:
        object.__setattr__(self, "_title_", name)
        vars(self).update(members)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError. Python calls this only for missing attributes."""
        raise AttributeError(f"{self._title_} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self._title_}.{name} cannot be set: {self._title_} is read-only")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._title_}.{name} cannot be deleted: {self._title_} is read-only")

    def __dir__(self) -> list[str]:
        return sorted(vars(self))

    def __repr__(self) -> str:
        return f"<{self._title_}: {', '.join(dir(self))}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: dict[int, object]) -> Self:
        return self


class HostObject(ReadOnly):
    """An object of the session, such as ``agent``, with members such as ``agent.go_to``."""

    __slots__ = ()


class HostFunction(ReadOnly):
    """A function that runs in the host. Plans can store it, wrap it and pass it on like any function.

    ``name`` may be dotted, such as ``agent.go_to``. Then ``__name__`` is the last part, and ``__qualname__`` is the
    whole name, as for a method.
    """

    __slots__ = ("__name__", "__qualname__", "_call_")
    __dir__ = object.__dir__  # type: ignore[assignment]
    _call_: CallHandler

    def __init__(self, name: str, call: CallHandler) -> None:
        super().__init__(name, {})  # like a Python function, it has an empty __dict__, which functools.wraps copies
        object.__setattr__(self, "__name__", name.rpartition(".")[2])
        object.__setattr__(self, "__qualname__", name)
        object.__setattr__(self, "_call_", call)

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        """Ask the host to call the function, and return its result."""
        return self._call_(args, kwargs)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self._title_} is read-only; keep the value in a variable of your own")

    def __repr__(self) -> str:
        return f"<function {self._title_}>"


HostFunction.__doc__ = None
"""A plan that reads ``agent.go_to.__doc__`` must get None, not the docstring of this class."""


class PlanRecord(ReadOnly):
    """A session value that is a dict. Its keys can be read as ``record.key`` or ``record["key"]``."""

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
        return type(other) is PlanRecord and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> "PlanRecord":
        return PlanRecord(self._title_, vars(self))

    def __deepcopy__(self, memo: dict[int, object]) -> "PlanRecord":
        return PlanRecord(self._title_, copy.deepcopy({**vars(self)}, memo))  # a copy, since the plan can read the memo


PlanRecord.__name__ = PlanRecord.__qualname__ = "Record"
"""The name that plans see in messages."""


SPARE_DEPTH = 100
"""Additional levels of recursion for reading an answer, which a plan near the recursion limit would lose."""
OUT_OF_MEMORY = encode_json(["end", None, [MEMORY_FAULT]])
"""The "end" message of a cell that needs too much memory, built in advance since there may be no memory later."""


class Link:
    """The worker's end of the channel, which the plan's functions, print and clock use."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._receiver = sock, Receiver(sock)
        self.file: str | None = None
        """The file name of the running cell. None between cells: then, plan code can send nothing."""
        self.objects: dict[str, object] = {}

    def receive(self, first_read: int = FIRST_CHUNK) -> list[Any]:
        """Return the next message from the host. The worker ends if the host has closed the channel.

        The first read gets up to ``first_read`` bytes, usually the whole message. If a second message may already have
        arrived, ``first_read`` must be PREFIX_BYTES, so that no part of that message is read. This method must create
        the same number of objects however a message is split: the number affects the addresses of later objects.
        """
        try:
            frame = self._read(first_read)
        except MemoryError:  # there was no memory for the buffer, so nothing was read
            frame = self._read(PREFIX_BYTES)
        missing = PREFIX_BYTES + int.from_bytes(frame[:PREFIX_BYTES]) - len(frame)
        remainder = b""
        while len(remainder) < missing:
            remainder += self._read(missing - len(remainder), socket.MSG_WAITALL)
        return parse_json((frame[PREFIX_BYTES:] + remainder).decode())  # type: ignore[no-any-return]

    def _read(self, size: int, flags: int = 0) -> bytes:
        try:
            return self._receiver.receive(size, flags) or os._exit(0)
        except OSError:
            os._exit(0)

    def send(self, payload: bytes) -> None:
        """Send one message. Raises FrameTooLong if it is too long.

        If the host has closed the channel, the worker ends immediately, since the plan could catch an exception.
        """
        frame = pack(payload, MAX_WORKER_FRAME)
        try:
            self._sock.sendall(frame)
        except OSError:
            os._exit(0)

    def update(self, changed: Mapping[str, object] | None, clock: int) -> None:
        """Apply the changed attributes and the clock that a frame from the host contains."""
        CLOCK.host_time = clock
        for dotted, value in (changed or {}).items():
            name, _, attribute = dotted.partition(".")
            vars(self.objects[name])[attribute] = value

    def write(self, text: str) -> None:
        """Send printed text to the host immediately, so that the host has it even if the worker is ended."""
        if self.file is None:
            return
        for start in range(0, len(text), MAX_STRING):
            self.send(encode_json(["print", escape_surrogates(text[start : start + MAX_STRING])]))

    def call(self, name: str, parameters: list[str], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Call a host function and return its result.

        Raises an exception like the one that the function raised, or TypeError or ValueError if an argument cannot be
        sent or does not fit.
        """
        return self._send_request(_call_message(self._line(), name, parameters, args, kwargs))

    def _line(self) -> int | None:
        """Return the innermost line of the running cell's source that led to this call, or None."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        return None if frame is None else frame.f_lineno

    def sleep(self, seconds: float) -> None:
        """Ask the host to advance the clock by this number of seconds."""
        self._send_request(encode_json(["sleep", seconds]))

    def module_source(self, module: str) -> tuple[str, bool] | None:
        """Return the source of a module and True if it is a package, or None if the host does not send the module."""
        if self.file is None or len(module) > MAX_MODULE_NAME:
            return None
        source: Any = self._send_request(encode_json(["import", module]))
        return None if source is None else (source[0], source[1])

    def _send_request(self, payload: bytes) -> object:
        if self.file is None:
            raise RuntimeError("no cell is running")
        depth = sys.getrecursionlimit()
        # If the stack is too deep to restore the limit below, this raises RecursionError before a request is sent.
        sys.setrecursionlimit(depth)
        sys.setrecursionlimit(depth + SPARE_DEPTH)
        try:
            self.send(payload)
            value, error = self._receive_answer()
        except FrameTooLong:
            size = f"the arguments take {len(payload):,} bytes"
            raise ValueError(f"{size}; at most {MAX_WORKER_FRAME:,} are allowed") from None
        finally:
            sys.setrecursionlimit(depth)
        if error is not None:
            raise error
        return value

    def _receive_answer(self) -> tuple[object, Exception | None]:
        """Return the value of the host's answer, or the exception that the plan's function must raise.

        If the answer cannot be read, the worker ends: the plan must not continue without it, since the host may have
        carried out the call.
        """
        try:
            kind, *answer, changed, clock = self.receive()
            self.update(changed, clock)
            return (answer[0], None) if kind == "answer" else (None, _exception(*answer))
        except MemoryError:
            self.send(OUT_OF_MEMORY)
            os._exit(1)
        except Exception:
            os._exit(1)


def _call_message(
    line: int | None, name: str, parameters: list[str], args: tuple[object, ...], kwargs: dict[str, object]
) -> bytes:
    """Return the "call" message.

    Raises TypeError or ValueError if JSON cannot represent an argument. The error's message names the parameter.
    """
    try:
        named = {key: as_json_value(value) for key, value in kwargs.items()}
        return encode_json(["call", line, name, list(map(as_json_value, args)), named])
    except (TypeError, ValueError):
        positional = [(parameters[i] if i < len(parameters) else str(i + 1), value) for i, value in enumerate(args)]
        for parameter, value in [*positional, *kwargs.items()]:
            try:
                encode_json(as_json_value(value))
            except (TypeError, ValueError) as error:
                raise type(error)(f"{name}(): argument {parameter!r} {error}") from None
        raise


def _exception(kind: str, message: str) -> Exception:
    """Return an exception of the built-in class ``kind``, or a RuntimeError if that is not possible.

    For example, the host may define the class itself, or the class may need more arguments than a message.
    """
    cls = getattr(builtins, kind, None)
    if isinstance(cls, type) and issubclass(cls, Exception) and not issubclass(cls, MemoryError):
        try:
            return cls(message)
        except TypeError:
            pass
    return RuntimeError(message)
