"""Exchange the messages of one cell with its worker, from "run" to "end", and check every message from the worker.

A cell is a piece of plan code that runs as a unit, and a worker is the process that runs it. Nothing that a worker
sends is trusted: ``parse_message`` accepts only messages in one of the SHAPES, ``read_faults`` accepts only faults that
an honest worker can report, and ``Conversation`` enforces the session's limits. ``sandbox/protocol.py`` lists the
messages.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
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
from planbook.sandbox.protocol import MAX_CALLERS, MAX_DEPTH, MAX_FAULT_TEXT, MAX_FAULTS, MAX_MODULE_NAME, HostileFrame
from planbook.sandbox.types import MAX_REQUEST_BYTES, Fault, FaultKind, LimitReached, Limits, RebuildDiverged

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

    The function's spec checks the arguments of a "call", and ``read_faults`` the faults of an "end".
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
    elif message[0] == "import" and len(message[1]) > MAX_MODULE_NAME:
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

    A worker does not check plans, so it reports no fault of the kind CHECK. The only limit that it can report is the
    memory limit. It truncates long strings.
    """
    if fault.kind is FaultKind.CHECK or (fault.kind is FaultKind.LIMIT and fault.type != "memory"):
        return False
    texts = (fault.type, fault.message, fault.source, fault.hint)
    numbers = (fault.line or 0, fault.column or 0, *fault.callers)
    if len(fault.callers) > MAX_CALLERS:
        return False
    return all(len(text) <= MAX_FAULT_TEXT for text in texts) and all(0 <= number <= MAX_SOURCE for number in numbers)


# Addresses of objects are removed from output and values: they may differ between workers, and tell a reader nothing.

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


T = TypeVar("T", bound=tuple[object, ...])
RequestHandler = Callable[[list[Any]], bytes]
"""Carries out a request (a "call", "sleep" or "import" message), and returns the answer to send."""


class Exchange(NamedTuple):
    """A request or an "end" message from the worker, with the preceding output and the host's answer."""

    output: str
    """The text that the plan printed before the message."""
    message: bytes
    """The "call", "sleep", "import" or "end" message. An "end" is recorded without addresses of objects."""
    answer: bytes
    """The answer as it was sent, or b"" after an "end"."""


@dataclass(slots=True)
class CellRecord:
    """A cell, with everything that is needed to run it again in another worker."""

    name: str
    file: str
    """The file name of the cell in tracebacks."""
    title: str
    """The name of the cell in the host's errors."""
    view: PlanView
    """The plan's view at the end of the cell, or at its beginning while it runs."""
    bytes_left: int
    """Number of bytes of memory that the records of the session may still take up."""
    start_messages: list[bytes] = field(default_factory=list)
    """The messages that start the cell: one "run" message, or one message for each part of a growing cell."""
    exchanges: list[Exchange] = field(default_factory=list)
    chars: int = 0
    """Number of characters in the source so far."""
    seconds: float = 0.0
    """Wall clock time of the first run in seconds, excluding the host's work."""
    used_seconds: tuple[float, float] = (0.0, 0.0)
    """The wall clock time and the processor time that the running cell has used in lost workers."""
    crashes: int = 0
    """Number of workers that have crashed while the cell ran."""
    faults: tuple[Fault, ...] = ()
    names: frozenset[str] = frozenset()
    """The names that this cell was the first to bind. While it runs, the names that earlier cells have bound."""

    def count_memory(self, record: T) -> T:
        """Count the memory of a new part of the record, and return the part. Raises LimitReached if none is left."""
        self.bytes_left -= getsizeof(record) + sum(map(getsizeof, record))
        if self.bytes_left < 0:
            raise LimitReached("kept")
        return record

    @property
    def end(self) -> list[Any]:
        """The latest "end" message: its kind, the cell's value, and the faults as the worker reported them."""
        end: list[Any] = from_json(self.exchanges[-1].message)
        return end


CHARS_BEFORE, CHARS_AFTER = 60, 240
"""Maximum numbers of characters before and after the first difference between the two runs of a cell that an error
quotes.
"""


def _excerpt(text: str, index: int) -> str:
    start = max(index - CHARS_BEFORE, 0)
    part = text[start : index + CHARS_AFTER]
    return f"{'...' if start else ''}{part}{'...' if start + len(part) < len(text) else ''}"


class Conversation:
    """The exchange of messages for one cell with one worker, from the first "run" or "part" to the last "end".

    ``cell`` records the exchange. If another worker has already run the cell, or its beginning, this worker must send
    the recorded messages, and gets the recorded answers. After that, ``answer`` carries out the requests.

    ``on_wait`` is called regularly while the plan runs.
    """

    def __init__(
        self,
        worker: WorkerProcess,
        cell: CellRecord,
        limits: Limits,
        answer: RequestHandler,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self._worker, self._cell, self._limits, self._answer, self._on_wait = worker, cell, limits, answer, on_wait
        self.exchange_count = self._finished_parts = self.calls = 0
        """The numbers of exchanges with this worker, of parts that it has finished, and of calls that it has made."""
        self.line: int | None = None
        """The line of the plan that made the latest call, or None if it is unknown."""
        self._output, self._exchanged_chars = StringIO(), 0
        """The output so far, and how many of its characters belong to earlier exchanges."""
        self._slept, self._requests, self._request_bytes = 0.0, 0, 0
        wall, self._cpu = cell.used_seconds
        self._is_running, self._paused = False, 0.0
        self._ended = self._checked_at = monotonic()
        """The time at which the last part ended. The wall clock is stopped between parts."""
        self._started, self._cpu_before = self._ended - wall, worker.cpu_seconds() - self._cpu
        worker.allow_cpu_seconds(limits.cpu_seconds - self._cpu)

    @property
    def output(self) -> str:
        """The cell's output, up to the limit."""
        return self._output.getvalue()[: self._limits.output_chars]

    @property
    def seconds(self) -> float:
        """Wall clock time of the plan itself, excluding the host's work."""
        return (monotonic() if self._is_running else self._ended) - self._started - self._paused

    @property
    def used_seconds(self) -> tuple[float, float]:
        """The wall clock time that the cell has used, and its processor time as of the last check."""
        return self.seconds, self._cpu

    def run(self) -> None:
        """Run the parts of the cell that this worker has not run yet.

        Raises LimitReached if the cell reaches a limit, HostileFrame or FrameTooLong if the worker breaks the protocol,
        ChannelClosed if the worker is gone, RebuildDiverged if the cell differs from its record, and whatever
        ``answer`` and ``on_wait`` raise.
        """
        for start in self._cell.start_messages[self._finished_parts :]:
            if not self._worker.is_quiet():
                raise HostileFrame("it sent a message without being asked")
            self._is_running, self._checked_at = True, monotonic()
            self._paused += self._checked_at - self._ended
            self._worker.send(start, self._check_time)
            while self._is_running:
                payload = self._worker.receive(self._check_time)
                if monotonic() - self._checked_at > SLICE_SECONDS:
                    self._check_time()
                self._handle(payload)
            self._finished_parts += 1

    def _handle(self, payload: bytes) -> None:
        """Answer a request, record output, or end the part. Raises HostileFrame if the message is out of turn."""
        message = parse_message(payload)
        match message[0]:
            case "call" | "sleep" | "import":
                self._count_request(message, len(payload))
                requested_at = monotonic()
                try:
                    answer = self._exchange(payload, message)
                finally:
                    self._paused += monotonic() - requested_at
                self._worker.send(answer, self._check_time)
            case "print":
                self._print(_without_addresses(message[1]) if ADDRESS_MARK in payload else message[1])
            case "end":
                self._worker.stop()
                self._is_running, self._ended = False, monotonic()
                self._exchange(to_json(_without_addresses(message)) if ADDRESS_MARK in payload else payload)
            case kind:
                raise HostileFrame(f"{kind!r} out of turn")

    def _exchange(self, payload: bytes, request: list[Any] | None = None) -> bytes:
        """Return the recorded answer to this message. If there is none, record the message and its answer.

        Raises RebuildDiverged if the record contains another message or different output.
        """
        recorded, output = self._cell.exchanges, self._take_output()
        if self.exchange_count == len(recorded):
            answer = b"" if request is None else self._answer(request)
            recorded.append(self._cell.count_memory(Exchange(output, payload, answer)))
        expected = recorded[self.exchange_count]
        if (expected.output, expected.message) != (output, payload):
            raise self._divergence(expected, output, payload)
        self.exchange_count += 1
        return expected.answer

    def _divergence(self, expected: Exchange, output: str, payload: bytes) -> RebuildDiverged:
        """Return the error for a message that differs from the recorded one, or that follows different output."""
        verb, old, new = "printed", expected.output, output
        if old == new:
            number = sum(bool(exchange.answer) for exchange in self._cell.exchanges[: self.exchange_count + 1])
            verb = f"call {number} was" if expected.answer else "ended with"
            old, new = expected.message.decode(), payload.decode()
        pairs = enumerate(zip(old, new, strict=False))
        index = next((index for index, (left, right) in pairs if left != right), min(len(old), len(new)))
        difference = f"{_excerpt(old, index)}, but when it ran again, {_excerpt(new, index)}"
        return RebuildDiverged(f"{self._cell.title}: {verb} {difference}")

    def _check_time(self) -> None:
        """Call ``on_wait`` and check the time limits. Raises LimitReached if one is exceeded."""
        self._checked_at = monotonic()
        if self._on_wait is not None:
            self._on_wait()
            self._paused += monotonic() - self._checked_at  # this is the host's time, not the plan's
        if self.seconds > self._limits.wall_seconds:
            raise LimitReached("wall")
        if (cpu := self._worker.cpu_seconds() - self._cpu_before) < inf:
            self._cpu = cpu  # infinity: the worker is gone, which the channel reports
        if self._cpu > self._limits.cpu_seconds:
            raise LimitReached("cpu")

    def _print(self, text: str) -> None:
        self._output.write(text)
        if self._output.tell() > self._limits.output_chars:
            raise LimitReached("output")

    def _take_output(self) -> str:
        """Return the text that was printed since this method was last called."""
        self._output.seek(self._exchanged_chars)
        new = self._output.read()
        self._exchanged_chars = self._output.tell()
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
