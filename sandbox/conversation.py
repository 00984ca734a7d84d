"""The messages of one cell, from "run" to "end", checked against their shapes and the session's limits.

Nothing that a worker sends is trusted: ``parse_message`` and ``read_faults`` accept the listed shapes only.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite
from sys import getsizeof
from time import monotonic
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from planbook.sandbox.answers import Seen
from planbook.sandbox.policy.rules import MAX_SOURCE
from planbook.sandbox.process import SLICE_SECONDS, Worker
from planbook.sandbox.protocol import MAX_CALLERS, MAX_DEPTH, MAX_FAULT_TEXT, MAX_FAULTS, MAX_MODULE, HostileFrame
from planbook.sandbox.types import MAX_ASKED, MAX_KEPT, Fault, FaultKind, LimitReached, Limits

# Addresses of objects. They differ between workers and tell a reader nothing.

MARK = b" at 0x"
"""What a message has that shows an address."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}(?=>)")
"""As in ``<Box object at 0x7f2b9c0d1a50>``."""


def without_addresses(text: str) -> str:
    """The text with ``0x...`` for every address that Python's own repr put there."""
    return _ADDRESS.sub(" at 0x...", text)


def shown_without(value: Any) -> Any:
    """A JSON value with ``without_addresses`` done to each of its texts; keys of dicts stay."""
    if isinstance(value, str):
        return without_addresses(value)
    if isinstance(value, dict):
        return {key: shown_without(item) for key, item in value.items()}
    return [shown_without(item) for item in value] if isinstance(value, list) else value


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
"""Kind of message: the exact types that its parts, the kind among them, may have."""
FAULTS = TypeAdapter(tuple[Fault, ...])


def parse_message(payload: bytes) -> list[Any]:
    """A message of one of the shapes. Raises HostileFrame.

    The arguments of a "call" are checked by the function's own spec, all else here.
    """
    try:
        message = from_json(payload, allow_inf_nan=False, cache_strings=False)
    except ValueError as error:
        raise HostileFrame(f"not JSON: {error}") from None
    if type(message) is not list or not message or type(message[0]) is not str or message[0] not in SHAPES:
        raise HostileFrame("not a known message")
    if tuple(map(type, message)) not in SHAPES[message[0]]:
        given = ", ".join(type(part).__name__ for part in message[1:])
        raise HostileFrame(f"a {message[0]!r} message of ({given})")
    if message[0] == "call":
        if message[1] is not None and not 0 <= message[1] <= MAX_SOURCE:
            raise HostileFrame(f"a 'call' from line {message[1]}")
    elif message[0] == "import" and len(message[1]) > MAX_MODULE:
        raise HostileFrame(f"an 'import' of a name of {len(message[1]):,} characters")
    elif not _is_plain(message[1]):
        raise HostileFrame(f"a {message[0]!r} message with a number that is not finite, or nested too deeply")
    return message


def read_faults(reports: list[Any]) -> tuple[Fault, ...]:
    """The faults of an "end" message. Raises HostileFrame."""
    try:
        read = FAULTS.validate_python(reports)
    except ValidationError:
        raise HostileFrame("an 'end' message with malformed faults") from None
    if len(read) > MAX_FAULTS or not all(map(_is_honest, read)):
        raise HostileFrame("an 'end' message with faults that no worker finds")
    return read


def _is_plain(value: JsonValue, depth: int = 0) -> bool:
    """Whether the host can pass the value on as JSON: "1e999" is read as infinity."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, (list, dict)):
        inside = value if isinstance(value, list) else value.values()
        return depth < MAX_DEPTH and all(_is_plain(item, depth + 1) for item in inside)
    return True


def _is_honest(fault: Fault) -> bool:
    """Return whether a worker may find this: of limits it knows its memory alone, it checks nothing, it cuts texts."""
    if fault.kind is FaultKind.CHECK or (fault.kind is FaultKind.LIMIT and fault.type != "memory"):
        return False
    texts = (fault.type, fault.message, fault.source, fault.hint)
    places = (fault.line or 0, fault.column or 0, *fault.callers)
    if len(fault.callers) > MAX_CALLERS:
        return False
    return all(len(text) <= MAX_FAULT_TEXT for text in texts) and all(0 <= place <= MAX_SOURCE for place in places)


# One cell.


class Request(NamedTuple):
    """What a worker asks: as it came over the channel, parsed, and what the cell printed since it last asked."""

    payload: bytes
    message: list[Any]
    printed: str


T = TypeVar("T", bound=tuple[object, ...])
Answer = Callable[[Request], bytes]
"""From a request to the message that answers it."""


class Exchange(NamedTuple):
    """One request of a worker and the answer it got, as they went over the channel; ``printed`` as in Request."""

    request: bytes
    answer: bytes
    printed: str


class End(NamedTuple):
    """How a cell ended: what it printed since it last asked, and the worker's "end" message without addresses."""

    printed: str
    payload: bytes

    @property
    def value(self) -> JsonValue:
        """What the cell came to."""
        value: JsonValue = from_json(self.payload)[1]
        return value

    @property
    def faults(self) -> list[Any]:
        """What was wrong, as the worker told."""
        faults: list[Any] = from_json(self.payload)[2]
        return faults


NO_END = End("", b'["end",null,[]]')
"""Of a cell that was ended."""


@dataclass(frozen=True, slots=True)
class FinishedCell:
    """What it takes to run a cell again in another worker: what the host sent, and what it had shown by the end."""

    name: str
    starts: tuple[bytes, ...]
    """One, or several of a cell that came in parts."""
    exchanges: tuple[Exchange, ...]
    ends: tuple[End, ...]
    seen: Seen
    size: int
    """Bytes of memory that all this takes, about."""
    seconds: float
    """On the wall clock, the first time."""


@dataclass
class UnderWay:
    """A cell that is being run: its name, its file, what was sent for it, and how each part has ended."""

    name: str
    file: str
    starts: list[bytes] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)


class Conversation:
    """One cell's messages, from "run" to "end"; of a cell that comes in parts, from the first "part" on.

    Keeps what has been printed and asked so far, whatever becomes of the cell. Raises LimitReached, HostileFrame,
    ChannelClosed, FrameTooLong, and what ``answer`` raises.
    """

    def __init__(
        self,
        worker: Worker,
        limits: Limits,
        answer: Answer,
        meanwhile: Callable[[], None] | None = None,
        room: int = MAX_KEPT,
    ) -> None:
        self._worker, self._limits, self._answer, self._meanwhile = worker, limits, answer, meanwhile
        self._room, self.size = room, 0
        self.exchanges: list[Exchange] = []
        self.calls = 0
        self.line: int | None = None
        """The plan line of the call that is being carried out."""
        self._printed: list[str] = []
        self._chars = self._told = 0
        self._slept, self._others, self._asked = 0.0, 0, 0
        self._started = self._looked = monotonic()
        self._paused, self._before = 0.0, (0, 0)
        self._ended: float | None = None
        """When the last part ended, while none runs: the plan's clock stands still."""
        self._cpu_before = worker.cpu_seconds()
        worker.allow(limits.cpu_seconds)

    @property
    def output(self) -> str:
        """What the cell printed, no more than the limit allows."""
        return "".join(self._printed)[: self._limits.output_chars]

    @property
    def has_begun(self) -> bool:
        """Whether the plan, or its last part, has been seen to run: it printed or asked."""
        return (len(self._printed), len(self.exchanges)) != self._before

    @property
    def seconds(self) -> float:
        """Wall clock of the plan itself, without the host's work."""
        return (self._ended or monotonic()) - self._started - self._paused

    def hold(self, start: bytes) -> End:
        """Send a "run" or "part" message and see to everything until the "end" message."""
        if not self._worker.quiet():
            raise HostileFrame("it spoke before it was asked")
        self._keep((start,))
        self._before = len(self._printed), len(self.exchanges)
        if self._ended is not None:
            self._looked = monotonic()
            self._paused, self._ended = self._paused + self._looked - self._ended, None
        self._worker.send(start, self._look)
        while True:
            payload = self._worker.receive(self._look)
            if monotonic() - self._looked > SLICE_SECONDS:
                self._look()
            message = parse_message(payload)
            match message[0]:
                case "call" | "sleep" | "import":
                    self._count(message, len(payload))
                    self._reply(payload, message)
                case "print":
                    self._print(without_addresses(message[1]) if MARK in payload else message[1])
                case "end":
                    self._worker.rest()
                    self._ended = monotonic()
                    shown = to_json(shown_without(message)) if MARK in payload else payload
                    return self._keep(End(self._newly_printed(), shown))
                case other:
                    raise HostileFrame(f"{other!r} out of turn")

    def _look(self) -> None:
        self._looked = monotonic()
        if self._meanwhile is not None:
            self._meanwhile()
            self._paused += monotonic() - self._looked  # it may have waited: the host's time, not the plan's
        if self.seconds > self._limits.wall_seconds:
            raise LimitReached("wall")
        if self._limits.cpu_seconds < self._worker.cpu_seconds() - self._cpu_before < inf:
            raise LimitReached("cpu")  # not of a worker that is gone, which the channel will tell

    def _print(self, text: str) -> None:
        if text:  # empty ones cost nothing of the limit, and must not pile up
            self._printed.append(text)
        self._chars += len(text)
        if self._chars > self._limits.output_chars:
            raise LimitReached("output")

    def _keep(self, parts: T) -> T:
        """Count what the session keeps of the cell. Raises LimitReached."""
        self.size += getsizeof(parts) + sum(map(getsizeof, parts))
        if self.size > self._room:
            raise LimitReached("kept")
        return parts

    def _newly_printed(self) -> str:
        new = "".join(self._printed[self._told :])
        self._told = len(self._printed)
        return new

    def _count(self, message: list[Any], size: int) -> None:
        if self.calls + self._others >= self._limits.host_calls:
            raise LimitReached("host_calls")
        self._asked += size
        if self._asked > MAX_ASKED:
            raise LimitReached("arguments")
        if message[0] == "call":
            self.calls += 1
            self.line = message[1]
            return
        self._others += 1
        if message[0] == "import":
            return
        if message[1] < 0:
            raise HostileFrame("a sleep of negative length")
        if message[1] > self._limits.wall_seconds - self._slept:
            raise LimitReached("sleep")
        self._slept += message[1]

    def _reply(self, payload: bytes, message: list[Any]) -> None:
        before, printed = monotonic(), self._newly_printed()
        try:
            answer = self._answer(Request(payload, message, printed))
        finally:
            self._paused += monotonic() - before
        self.exchanges.append(self._keep(Exchange(payload, answer, printed)))
        self._worker.send(answer, self._look)
