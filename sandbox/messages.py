"""What the host accepts from a worker: the shape of every message, and nothing else."""

from types import NoneType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from sandbox.types import Fault

JSON_TYPES = (str, int, float, bool, NoneType, list, dict)
SHAPES: dict[str, frozenset[tuple[type, ...]]] = {
    "opened": frozenset({(str, dict)}),
    "print": frozenset({(str, str)}),
    "call": frozenset((str, line, str, list, dict) for line in (int, NoneType)),
    "sleep": frozenset({(str, int), (str, float)}),
    "end": frozenset((str, value, list) for value in JSON_TYPES),
}
"""Kind of message: the exact types that its parts, the kind among them, may have."""
FAULTS = TypeAdapter(tuple[Fault, ...])


class HostileFrame(Exception):
    """A worker sent what an honest worker never sends."""


def parse(payload: bytes) -> list[Any]:
    """A message of one of the shapes. Raises HostileFrame."""
    try:
        message = from_json(payload, allow_inf_nan=False, cache_strings=False)
    except ValueError as error:
        raise HostileFrame(f"not JSON: {error}") from None
    if type(message) is not list or not message or type(message[0]) is not str or message[0] not in SHAPES:
        raise HostileFrame("not a known message")
    if tuple(map(type, message)) not in SHAPES[message[0]]:
        given = ", ".join(type(part).__name__ for part in message[1:])
        raise HostileFrame(f"a {message[0]!r} message of ({given})")
    return message


def faults(reports: list[Any]) -> tuple[Fault, ...]:
    """The faults of an "end" message. Raises HostileFrame."""
    try:
        return FAULTS.validate_python(reports)
    except ValidationError:
        raise HostileFrame("an 'end' message with malformed faults") from None
