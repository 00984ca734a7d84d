"""What the host accepts from a worker: the shape of every message, and nothing else."""

from math import isfinite
from types import NoneType
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json

from planbook.sandbox.policy.tables import MAX_SOURCE
from planbook.sandbox.protocol import MAX_CALLERS, MAX_DEPTH, MAX_FAULT_TEXT, MAX_FAULTS, MAX_MODULE
from planbook.sandbox.types import Fault, FaultKind

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


class HostileFrame(Exception):
    """A worker sent what an honest worker never sends."""


def parse(payload: bytes) -> list[Any]:
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


def faults(reports: list[Any]) -> tuple[Fault, ...]:
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
