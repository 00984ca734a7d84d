"""Exchange the messages of one cell with its worker, from "run" to "end", and check every message from the worker.

A cell is a piece of plan code that is run as a unit, and a worker is the process that runs it. Nothing that a worker
sends is trusted: ``parse_message`` accepts only messages in one of the SHAPES, ``read_faults`` accepts only faults that
an honest worker can report, and ``Conversation`` enforces the session's limits. ``sandbox/protocol.py`` lists the
messages.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from sys import getsizeof
from time import monotonic
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json, to_json

from planbook.sandbox.answers import PlanView
from planbook.sandbox.functions import fail_fast_validator
from planbook.sandbox.policy.rules import MAX_SOURCE
from planbook.sandbox.process import SLICE_SECONDS, WorkerProcess
from planbook.sandbox.protocol import MAX_CALLERS, MAX_DEPTH, MAX_FAULT_TEXT, MAX_FAULTS, MAX_MODULE, HostileFrame
from planbook.sandbox.types import MAX_KEPT, MAX_REQUEST_BYTES, Fault, FaultKind, LimitReached, Limits, RebuildDiverged

# Shapes of messages.

JSON_TYPES = (str, int, float, bool, NoneType, list, dict)
SHAPES: dict[str, frozenset[tuple[type, ...]]] = {
    "locked": frozenset({(str, dict)}),
    "print": frozenset({(str, str)}),
    "call": frozenset((str, line, str, list, dict) for line in (int, NoneType)),
    "sleep": frozenset({(str, int), (str, float)}),
    "import": frozenset({(str, str)}),
    "end": frozenset((str, value, list) for value in JSON_TYPES),
}
"""Maps each kind of message to the tuples of types that its parts may have. The first part is the kind itself."""
FAULTS = fail_fast_validator(tuple[Fault, ...])


def parse_message(payload: bytes) -> list[Any]:
    """Return the message. Raises HostileFrame if it has none of the SHAPES, or if one of its values is out of range.

    Two things are checked elsewhere: the arguments of a "call" by the function's spec, and the faults of an "end" by
    ``read_faults``.
    """
    try:
        message = from_json(payload, allow_inf_nan=False, cache_strings=False)
    except ValueError as error:
        raise HostileFrame(f"not JSON: {error}") from None
    if type(message) is not list or not message or type(message[0]) is not str or message[0] not in SHAPES:
        raise HostileFrame("not a known message")
    if tuple(map(type, message)) not in SHAPES[message[0]]:
        types = ", ".join(type(part).__name__ for part in message[1:])
        raise HostileFrame(f"a {message[0]!r} message of the types ({types})")
    if message[0] == "call":
        if message[1] is not None and not 0 <= message[1] <= MAX_SOURCE:
            raise HostileFrame(f"a 'call' from line {message[1]}")
    elif message[0] == "import" and len(message[1]) > MAX_MODULE:
        raise HostileFrame(f"an 'import' of a name with {len(message[1]):,} characters")
    elif not _is_within_bounds(message[1]):
        raise HostileFrame(f"a {message[0]!r} message with a number that is not finite, or nested too deeply")
    return message


def read_faults(reports: list[Any]) -> tuple[Fault, ...]:
    """Return the faults of an "end" message. Raises HostileFrame if no honest worker can report them."""
    try:
        faults: tuple[Fault, ...] = FAULTS.validate_python(reports[: MAX_FAULTS + 1])
    except ValidationError:
        raise HostileFrame("an 'end' message with malformed faults") from None
    if len(faults) > MAX_FAULTS or not all(map(_is_plausible, faults)):
        raise HostileFrame("an 'end' message with faults that no worker reports")
    return faults


def _is_within_bounds(value: JsonValue, depth: int = 0) -> bool:
    """Return whether all numbers are finite and the nesting is not too deep. JSON's 1e999 is read as infinity."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, (list, dict)):
        items = value if isinstance(value, list) else value.values()
        return depth < MAX_DEPTH and all(_is_within_bounds(item, depth + 1) for item in items)
    return True


def _is_plausible(fault: Fault) -> bool:
    """Return whether an honest worker can report this fault.

    A worker does not check plans, so it reports no fault of the kind CHECK. The only limit that it can
    report is the memory limit. It truncates long strings.
    """
    if fault.kind is FaultKind.CHECK or (fault.kind is FaultKind.LIMIT and fault.type != "memory"):
        return False
    texts = (fault.type, fault.message, fault.source, fault.hint)
    numbers = (fault.line or 0, fault.column or 0, *fault.callers)
    if len(fault.callers) > MAX_CALLERS:
        return False
    return all(len(text) <= MAX_FAULT_TEXT for text in texts) and all(0 <= number <= MAX_SOURCE for number in numbers)


# Addresses of objects in output and values are removed: they may differ between workers and tell a reader nothing.

ADDRESS_MARK = b" at 0x"
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}(?=>)")
"""An address as in ``<Box object at 0x7f2b9c0d1a50>``."""


def _without_addresses(value: Any) -> Any:
    """Return a JSON value with the addresses in its strings replaced by ``0x...``, except in keys of dicts."""
    if isinstance(value, str):
        return _ADDRESS.sub(" at 0x...", value)
    if isinstance(value, dict):
        return {key: _without_addresses(item) for key, item in value.items()}
    return [_without_addresses(item) for item in value] if isinstance(value, list) else value


# One cell.


T = TypeVar("T", bound=tuple[object, ...])
RequestHandler = Callable[[list[Any]], bytes]
"""Carries out a request (a "call", "sleep" or "import" message) and returns the message that answers it."""


class Exchange(NamedTuple):
    """A request and its answer, as they were sent, and the text that the plan printed between the previous request and
    this one.
    """

    request: bytes
    answer: bytes
    printed: str


class CellEnd(NamedTuple):
    """The end of a cell or of a part of one.

    ``printed`` is the text that was printed since the last request. ``payload`` is the worker's "end" message, without
    addresses of objects.
    """

    printed: str
    payload: bytes

    @property
    def value(self) -> JsonValue:
        """The value of the cell."""
        value: JsonValue = from_json(self.payload)[1]
        return value

    @property
    def faults(self) -> list[Any]:
        """The faults as the worker reported them."""
        faults: list[Any] = from_json(self.payload)[2]
        return faults


@dataclass(frozen=True, slots=True)
class FinishedCell:
    """Everything that is needed to run a cell again in another worker."""

    name: str
    starts: tuple[bytes, ...]
    """The messages that started the cell: one "run" message, or one message for each part of a cell run in parts."""
    exchanges: tuple[Exchange, ...]
    ends: tuple[CellEnd, ...]
    """The end of each part, in the order of ``starts``."""
    view: PlanView
    """The clock and the attributes that the plan had received when the cell ended."""
    size: int
    """Approximate size in memory, in bytes."""
    seconds: float
    """Wall clock time of the first run in seconds, excluding the host's work."""


CHARS_BEFORE, CHARS_AFTER = 60, 240
"""When a cell behaves differently in its second run, the error quotes at most this many characters before and after the
first difference.
"""


class RecordedAnswers:
    """The answers that a cell got in its first run. When the cell runs again, its requests get the same answers.

    If the first run came to its end, the answers are ``complete``: another request after the last recorded one is an
    error. If they are not complete, the host carries out the requests that follow.
    """

    def __init__(self, exchanges: Sequence[Exchange] = (), title: str = "", *, complete: bool = False) -> None:
        self.exchanges, self._title, self._complete = exchanges, title, complete
        self._next = 0

    def next(self, payload: bytes, printed: str) -> bytes | None:
        """Return the recorded answer to the next request, or None if there are no more.

        Raises RebuildDiverged if the request, or the output before it, differs from the first run.
        """
        if self._next == len(self.exchanges):
            if self._complete:
                request = _excerpt(payload.decode(), 0)
                raise RebuildDiverged(f"{self._title}: when it ran again, it made one more call: {request}")
            return None
        expected = self.exchanges[self._next]
        self._next += 1
        self._compare("printed", expected.printed, printed)
        self._compare(f"call {self._next} was", expected.request.decode(), payload.decode())
        return expected.answer

    def check_ends(self, ends: Sequence[CellEnd], expected: Sequence[CellEnd]) -> None:
        """Raise RebuildDiverged if the cell ended before all recorded requests, or if a part ended differently.

        ``expected`` contains the ends of the first run, and ``ends`` those of the new run.
        """
        if self._next < len(self.exchanges):
            missing = _excerpt(self.exchanges[self._next].request.decode(), 0)
            raise RebuildDiverged(f"{self._title}: when it ran again, it ended before call {self._next + 1}, {missing}")
        for first, second in zip(expected, ends, strict=False):
            self._compare("printed", first.printed, second.printed)
            self._compare("ended with", first.payload.decode(), second.payload.decode())

    def _compare(self, verb: str, old: str, new: str) -> None:
        """Raise RebuildDiverged if the text of the first run, ``old``, differs from that of the new run, ``new``."""
        if old != new:
            pairs = enumerate(zip(old, new, strict=False))
            index = next((index for index, (left, right) in pairs if left != right), min(len(old), len(new)))
            first, second = _excerpt(old, index), _excerpt(new, index)
            raise RebuildDiverged(f"{self._title}: {verb} {first}, but when it ran again, {second}")


def _excerpt(text: str, index: int) -> str:
    start = max(index - CHARS_BEFORE, 0)
    part = text[start : index + CHARS_AFTER]
    return f"{'...' if start else ''}{part}{'...' if start + len(part) < len(text) else ''}"


class Conversation:
    """The exchange of messages for one cell, from the first "run" or "part" to the last "end".

    However the cell ends, the output and the exchanges up to that point remain available. ``answer`` carries out the
    requests that have no answer in ``recorded``. ``on_wait`` is called regularly while the plan runs. ``max_size`` is
    the maximum number of bytes that may be kept for running the cell again. ``spent`` is the wall clock time and the
    processor time, in seconds, that the cell has used in workers that were lost.
    """

    def __init__(
        self,
        worker: WorkerProcess,
        limits: Limits,
        answer: RequestHandler,
        on_wait: Callable[[], None] | None = None,
        max_size: int = MAX_KEPT,
        recorded: RecordedAnswers | None = None,
        spent: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._worker, self._limits, self._answer, self._on_wait = worker, limits, answer, on_wait
        self.recorded = recorded or RecordedAnswers()
        self._max_size, self.size = max_size, 0
        self.exchanges: list[Exchange] = []
        self.calls = 0
        self.line: int | None = None
        """The line of the plan that made the current call."""
        self._printed: list[str] = []
        self._printed_chars = self._reported = 0
        """Number of characters printed so far, and of items of ``_printed`` that are in an exchange or an end."""
        self._slept, self._requests, self._request_bytes = 0.0, 0, 0
        self._started = self._checked_at = monotonic() - spent[0]
        self._paused = 0.0
        self._ended: float | None = None
        """The time when the last part ended, or None while a part runs. Between parts the wall clock is stopped."""
        self._cpu_before, self._cpu = worker.cpu_seconds() - spent[1], spent[1]
        worker.allow_cpu_seconds(limits.cpu_seconds - spent[1])

    @property
    def output(self) -> str:
        """The cell's output, up to the limit."""
        return "".join(self._printed)[: self._limits.output_chars]

    @property
    def seconds(self) -> float:
        """Wall clock time of the plan itself, excluding the host's work."""
        return (self._ended or monotonic()) - self._started - self._paused

    @property
    def spent(self) -> tuple[float, float]:
        """The wall clock time and the processor time that the cell has used, the latter as of the last check."""
        return self.seconds, self._cpu

    def run(self, start: bytes) -> CellEnd:
        """Send ``start``, a "run" or "part" message, handle the worker's messages up to the "end", and return the end.
        Raises LimitReached if the cell reaches a limit, HostileFrame or FrameTooLong if the worker breaks the protocol,
        ChannelClosed if the worker is gone, and whatever ``answer`` and ``on_wait`` raise.
        """
        if not self._worker.is_quiet():
            raise HostileFrame("it sent a message without being asked")
        self._count_memory((start,))
        if self._ended is not None:
            self._checked_at = monotonic()
            self._paused, self._ended = self._paused + self._checked_at - self._ended, None
        self._worker.send(start, self._check_time)
        while True:
            payload = self._worker.receive(self._check_time)
            if monotonic() - self._checked_at > SLICE_SECONDS:
                self._check_time()
            message = parse_message(payload)
            match message[0]:
                case "call" | "sleep" | "import":
                    self._count_request(message, len(payload))
                    requested_at, printed = monotonic(), self._take_printed()
                    try:
                        answer = self.recorded.next(payload, printed) or self._answer(message)
                    finally:
                        self._paused += monotonic() - requested_at
                    self.exchanges.append(Exchange(payload, answer, printed))
                    self._worker.send(answer, self._check_time)
                    self._count_memory(self.exchanges[-1])  # after sending, so that the plan need not wait for it
                case "print":
                    self._print(_without_addresses(message[1]) if ADDRESS_MARK in payload else message[1])
                case "end":
                    self._worker.stop()
                    self._ended = monotonic()
                    cleaned = to_json(_without_addresses(message)) if ADDRESS_MARK in payload else payload
                    return self._count_memory(CellEnd(self._take_printed(), cleaned))
                case kind:
                    raise HostileFrame(f"{kind!r} out of turn")

    def _check_time(self) -> None:
        """Call ``on_wait`` and check the time limits. Raises LimitReached if one is exceeded."""
        self._checked_at = monotonic()
        if self._on_wait is not None:
            self._on_wait()
            self._paused += monotonic() - self._checked_at  # this is the host's time, not the plan's
        if self.seconds > self._limits.wall_seconds:
            raise LimitReached("wall")
        if (cpu := self._worker.cpu_seconds() - self._cpu_before) < inf:
            self._cpu = cpu  # infinity means that the worker is gone, which the channel reports
        if self._cpu > self._limits.cpu_seconds:
            raise LimitReached("cpu")

    def _print(self, text: str) -> None:
        if (
            text
        ):  # an empty string is not kept: it does not count towards the limit, so a plan could send any number of them
            self._printed.append(text)
        self._printed_chars += len(text)
        if self._printed_chars > self._limits.output_chars:
            raise LimitReached("output")

    def _count_memory(self, parts: T) -> T:
        """Add the memory that the parts take to ``size``, and return the parts. Raises LimitReached above the limit."""
        self.size += getsizeof(parts) + sum(map(getsizeof, parts))
        if self.size > self._max_size:
            raise LimitReached("kept")
        return parts

    def _take_printed(self) -> str:
        """Return the text that was printed since this method was last called."""
        new = "".join(self._printed[self._reported :])
        self._reported = len(self._printed)
        return new

    def _count_request(self, message: list[Any], size: int) -> None:
        """Count a request of ``size`` bytes.

        Raises LimitReached if the cell makes too many requests, sends too many bytes or sleeps for too long, or
        HostileFrame for a negative sleep.
        """
        if self._requests >= self._limits.host_calls:
            raise LimitReached("host_calls")
        self._requests, self._request_bytes = self._requests + 1, self._request_bytes + size
        if self._request_bytes > MAX_REQUEST_BYTES:
            raise LimitReached("arguments")
        if message[0] == "call":
            self.calls += 1
            self.line = message[1]
        elif message[0] == "sleep":
            if message[1] < 0:
                raise HostileFrame("a sleep of negative length")
            if message[1] > self._limits.wall_seconds - self._slept:
                raise LimitReached("sleep")
            self._slept += message[1]
