"""What the host accepts from a worker: the shape of every message, and nothing else."""

from types import NoneType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from sandbox.types import Fault

ANY = (object,)
SHAPES: dict[str, tuple[tuple[type, ...], ...]] = {
    "opened": ((dict,),),
    "print": ((str,),),
    "call": ((int, NoneType), (str,), (list,), (dict,)),
    "sleep": ((int, float),),
    "end": (ANY, (list,)),
}
"""Kind of message: the exact types that each of its parts may have."""
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
    shape = SHAPES[message[0]]
    if len(message) != len(shape) + 1:
        raise HostileFrame(f"a {message[0]!r} message of {len(message)} parts")
    for part, types in zip(message[1:], shape, strict=True):
        if types is not ANY and type(part) not in types:
            raise HostileFrame(f"a {message[0]!r} message with a {type(part).__name__} out of place")
    return message


def faults(reports: list[Any]) -> tuple[Fault, ...]:
    """The faults of an "end" message. Raises HostileFrame."""
    try:
        return FAULTS.validate_python(reports)
    except ValidationError:
        raise HostileFrame("an 'end' message with malformed faults") from None
