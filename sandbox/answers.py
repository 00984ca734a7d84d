"""The host's side of a session that a plan can see: functions, attributes and the logical clock."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json

from planbook.sandbox.errors import BadAnswer, SandboxError
from planbook.sandbox.functions import FunctionSpec
from planbook.sandbox.library import library_source
from planbook.sandbox.messages import HostileFrame
from planbook.sandbox.policy.compiler import Before
from planbook.sandbox.precompile import Compiled, Request, precompile
from planbook.sandbox.protocol import MAX_FROM_HOST
from planbook.sandbox.suggest import Guesses

EPOCH = 946_684_800_000_000
"""2000-01-01T00:00:00Z in microseconds."""
SECOND = 1_000_000
MAX_MESSAGE = 20_000
MAX_DIGITS = 4_300
"""Digits of an integer that Python reads."""
_LONG_NUMBER = re.compile(rb"\d{%d}" % (MAX_DIGITS + 1))
Kind = Literal["run", "part"]
Attributes = Callable[[], Mapping[str, JsonValue]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the plan has been shown: the clock, and each attribute's value."""

    clock: int
    attributes: Mapping[str, JsonValue]


class Answers:
    """Carries out what a worker asks for, and makes the message that answers it."""

    def __init__(
        self,
        specs: Mapping[str, FunctionSpec],
        attributes: Attributes | None,
        *,
        guarded: bool = False,
        modules: frozenset[str] = frozenset(),
    ) -> None:
        self._specs, self._attributes, self._guarded = specs, attributes, guarded
        self._runs, self._guesses, self._leaves = 0, Guesses(), ("", Before(modules=modules))
        """The number of cells; what is left to guess; the file of the last cell, and what it leaves to the next."""
        self._clock, self._shown, self._last = EPOCH, dict[str, JsonValue](), b""

    @property
    def seen(self) -> Seen:
        """What the plan has been shown by now."""
        return Seen(self._clock, self._shown)

    def new_file(self, name: str) -> str:
        """A file name for a cell that no other cell of the session has."""
        self._runs, self._guesses = self._runs + 1, Guesses()
        return f"{name}#{self._runs - 1}"

    def run(self, source: str, name: str, file: str | None = None, kind: Kind = "run") -> bytes:
        """The message that starts a cell, or a part of one; a cell without a file gets one of its own."""
        file = file or self.new_file(name)
        compiled = self.compiled(source, file, kind)
        self._leaves = file, compiled.leaves
        return _message(kind, source, name, compiled.code, self.changed(), self._clock)

    def compiled(self, source: str, file: str, kind: Kind) -> Compiled:
        """Compile a cell, or the next part of one."""
        last, before = self._leaves
        return precompile(
            Request(source, file, self._guarded, kind == "part", before if last == file else before._replace(flags=0))
        )

    def answer(self, message: list[Any]) -> bytes:
        """Answer a request. Raises HostileFrame, BadAnswer, and what functions raise beyond Exception."""
        if message[0] == "sleep":
            self._clock += int(message[1] * SECOND)
            return _message("answer", None, None, self._clock)
        if message[0] == "import":
            return _message("answer", library_source(message[1]), None, self._clock)
        _, name, args, kwargs = message[1:]
        if name not in self._specs:
            raise HostileFrame(f"a call of {name!r}, which the session does not have")
        return self._call(self._specs[name], args, kwargs)

    def changed(self) -> Mapping[str, JsonValue] | None:
        """The attributes that differ from what the plan has seen, which it has then seen; None if none does."""
        if self._attributes is None:
            return None
        encoded = _encoded("attributes", self._attributes())
        if encoded == self._last:
            return None
        self._last = encoded
        now, before = from_json(encoded), self._shown
        self._shown = now
        return {name: value for name, value in now.items() if name not in before or before[name] != value}

    def return_to(self, seen: Seen) -> None:
        """Take up where a plan has seen no more than this."""
        self._clock, self._shown, self._last = seen.clock, dict(seen.attributes), b""

    def _call(self, spec: FunctionSpec, args: list[JsonValue], kwargs: dict[str, JsonValue]) -> bytes:
        try:
            checked, named = spec.check(args, kwargs, self._guesses.closest)
        except (TypeError, ValueError) as error:
            return self._error(error)
        self._clock += SECOND
        try:
            value = spec.function(*checked, **named)
        except SandboxError:
            raise
        except Exception as error:
            return self._error(error)
        return _message("answer", value, self.changed(), self._clock, of=spec.name)

    def _error(self, error: Exception) -> bytes:
        plain = _text_of(error)[:MAX_MESSAGE].encode("utf-8", "backslashreplace").decode()
        return _message("error", type(error).__name__, plain, self.changed(), self._clock)


def _text_of(error: Exception) -> str:
    if len(error.args) == 1 and isinstance(error.args[0], str):
        return error.args[0]
    try:
        return str(error)
    except Exception as broken:
        raise BadAnswer(f"a function raised {type(error).__name__}, whose text cannot be had: {broken!r}") from error


def _message(*parts: object, of: str = "the session") -> bytes:
    payload = _encoded(of, parts)
    if _LONG_NUMBER.search(payload) and _holds_long_number(payload):
        raise BadAnswer(
            f"{of}: the answer holds an integer of more than {MAX_DIGITS} digits, which Python does not read"
        )
    if len(payload) > MAX_FROM_HOST:
        raise BadAnswer(f"{of}: an answer of {len(payload)} bytes; at most {MAX_FROM_HOST} are allowed")
    return payload


def _holds_long_number(payload: bytes) -> bool:
    """Whether Python reads the payload no more: the digits may also stand in a text."""
    try:
        json.loads(payload)
    except ValueError:
        return True
    return False


def _encoded(of: str, value: object) -> bytes:
    try:
        return to_json(value, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError) as error:
        raise BadAnswer(f"{of}: the answer is not JSON: {error}") from error
