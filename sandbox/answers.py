"""Carry out the requests of a worker, and build the messages to it: the opening message, code to run, and answers.

This code runs in the host, the process that opens sessions. A worker is the process in which the plan code of one
session runs. A cell is a piece of plan code that runs as a unit.
"""

import importlib.util
import json
import re
import reprlib
import sys
import sysconfig
import zoneinfo
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import sha512
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from planbook.sandbox.functions import FunctionSpec, check_name
from planbook.sandbox.policy.compiler import CompileContext, Compiled, compile_for_worker_cached
from planbook.sandbox.protocol import MAX_HOST_FRAME, HostileFrame
from planbook.sandbox.suggest import Guesser
from planbook.sandbox.types import BadAnswer, BadFunction, SandboxError

# The source code of the standard library. The host sends it, since workers cannot read files.

STDLIB = Path(sysconfig.get_path("stdlib"))
ZONE_PREFIX = "zoneinfo:"


@lru_cache(256)
def library_source(name: str) -> tuple[str, bool] | None:
    """Return the source of a module of the standard library, and True if it is a package.

    Return None for any other module. No module is imported. For ``zoneinfo:KEY``, such as ``zoneinfo:Asia/Tokyo``, the
    source is the data of that time zone, with one character for each byte.
    """
    if name.startswith(ZONE_PREFIX):
        return _zone_data(name.removeprefix(ZONE_PREFIX))
    if name.partition(".")[0] not in sys.stdlib_module_names or not all(map(str.isidentifier, name.split("."))):
        return None
    base = STDLIB.joinpath(*name.split("."))
    for path, is_package in ((base / "__init__.py", True), (base.with_name(base.name + ".py"), False)):
        with suppress(OSError, UnicodeError, SyntaxError):  # the plan chooses the name, which may be too long
            if path.is_file():
                return importlib.util.decode_source(path.read_bytes()), is_package
    return None


@cache
def _zone_names() -> frozenset[str]:
    """Return the names of all time zones. They are cached, since Python reads hundreds of files to find them."""
    return frozenset(zoneinfo.available_timezones())


def _zone_data(key: str) -> tuple[str, bool] | None:
    if key not in _zone_names():
        return None
    file = next((path for folder in zoneinfo.TZPATH if (path := Path(folder, key)).is_file()), None)
    data = (file or resources.files("tzdata").joinpath("zoneinfo", *key.split("/"))).read_bytes()
    return data.decode("latin-1"), False


def function_specs(functions: Mapping[str, Callable[..., object]]) -> dict[str, FunctionSpec]:
    """Return a dict that maps the name of each function to its spec.

    Raises BadFunction if plans cannot call one of the functions.
    """
    if not isinstance(functions, Mapping):
        raise BadFunction(f"functions must be a dict such as {{'agent.open': open_box}}, not {functions!r}")
    return {name: FunctionSpec.of(name, function) for name, function in functions.items()}


def open_message(
    specs: Mapping[str, FunctionSpec],
    values: Mapping[str, JsonValue],
    attributes: Mapping[str, JsonValue],
    seed: str | int,
) -> bytes:
    """Return the "open" message, which tells a new worker what its session offers to plans.

    ``specs``, ``values`` and ``attributes`` are keyed by the names that plans use. Raises BadFunction if plans cannot
    use one of these names, if a name is defined twice, or if the values and attributes are not JSON or are too large.
    """
    _check_names(specs, values, attributes)
    settings = {
        "functions": {name: spec.parameters() for name, spec in specs.items()},
        "values": values,
        "attributes": attributes,
        "seed": seed if isinstance(seed, int) else _seed_number(seed),
    }
    try:
        payload = _to_json(["open", settings])
    except (PydanticSerializationError, ValueError) as error:
        raise BadFunction(f"a value or an attribute is not JSON: {error}") from error
    if len(payload) > MAX_HOST_FRAME:
        raise BadFunction(f"values and attributes take {len(payload)} bytes; at most {MAX_HOST_FRAME} are allowed")
    return payload


def _seed_number(seed: str) -> int:
    """Return the number to which ``random.seed`` would convert this string."""
    text = seed.encode()
    return int.from_bytes(text + sha512(text).digest())


def _check_names(functions: Collection[str], values: Collection[str], attributes: Collection[str]) -> None:
    for name in values:
        check_name(name, max_parts=1)
    for name in attributes:
        check_name(name, max_parts=2)
        if "." not in name:
            raise BadFunction(f"attribute {name!r}: its name must have the form object.attribute")
    dotted = [name for name in (*functions, *attributes) if "." in name]
    objects = {name[: dot.start()] for name in dotted for dot in re.finditer(r"\.", name)}
    names = [*(name for name in functions if "." not in name), *values, *objects, *dotted]
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise BadFunction(f"defined twice, or both as an object and as something else: {', '.join(duplicates)}")


EPOCH = 946_684_800_000_000
"""The time at which the clock of a session starts: 2000-01-01T00:00:00Z in microseconds."""
SECOND = 1_000_000
"""A second in microseconds. Each call advances the clock by one second."""
MAX_MESSAGE = 20_000
"""Maximum number of characters of an exception's message that are sent to the plan."""
MAX_DIGITS = 4_300
"""Maximum number of digits in an integer: Python refuses to parse longer ones."""
_LONG_NUMBER = re.compile(rb"[-\[,: ]\d{%d}" % (MAX_DIGITS + 1))
"""Matches a long integer. It begins before the first digit, so that a search reads each digit only once."""
CellKind = Literal["run", "part"]
"""The kind of a message with code: "part" if more code of the same cell follows, otherwise "run"."""
AttributeReader = Callable[[], Mapping[str, JsonValue]]
"""Returns a dict that maps the dotted name of each attribute that plans may read to its current value."""


class PlanView(NamedTuple):
    """The clock and the attribute values that the plan last received from the host."""

    clock: int = EPOCH
    attributes: bytes = b"{}"
    """The values of the attributes, as JSON."""


class Answers:
    """Carries out the requests of one session's worker, and builds the messages that the host sends to it.

    If ``language_layer``, the language policy applies to the plan's code. ``modules`` names the packages beyond the
    standard library that plans may import.
    """

    def __init__(
        self,
        specs: Mapping[str, FunctionSpec],
        attributes: AttributeReader | None,
        *,
        language_layer: bool = False,
        modules: frozenset[str] = frozenset(),
    ) -> None:
        self._specs, self._attributes, self._language_layer = specs, attributes, language_layer
        self._cells, self._guesser = 0, Guesser()
        self._context = CompileContext(modules=modules)
        self._clock, self._sent_attributes = PlanView()

    @property
    def view(self) -> PlanView:
        """The plan's current view."""
        return PlanView(self._clock, self._sent_attributes)

    @property
    def names(self) -> frozenset[str]:
        """The names that the plan has bound so far."""
        return self._context.names

    def begin_cell(self, name: str, view: PlanView, names: frozenset[str] = frozenset()) -> str:
        """Begin a cell, and return its file name, which is unique in the session.

        ``view`` is the plan's view when the cell begins, and ``names`` are the names that earlier cells have bound.
        """
        self._cells, self._guesser = self._cells + 1, Guesser()
        self._context, (self._clock, self._sent_attributes) = self._context._replace(names=names, flags=0), view
        return f"{name}#{self._cells - 1}"

    def start_message(self, source: str, name: str, file: str, kind: CellKind) -> bytes:
        """Return the message that starts a cell or the next part of one."""
        compiled = self.compile(source, file, kind)
        self._context = compiled.context
        return _message(kind, source, name, compiled.code, self.take_changed_attributes(), self._clock)

    def compile(self, source: str, file: str, kind: CellKind) -> Compiled:
        """Compile a cell, or the next part of one. The result has either the compiled code or faults."""
        return compile_for_worker_cached(source, file, self._language_layer, kind == "part", self._context)

    def answer(self, message: list[Any]) -> bytes:
        """Carry out a request and return the answer.

        If the called function raises an exception, the answer is an "error" message. Only a SandboxError, or a
        BaseException such as KeyboardInterrupt, passes through. Raises HostileFrame for a call that no honest worker
        makes, or BadAnswer if the result cannot be sent.
        """
        if message[0] == "sleep":
            self._clock += int(message[1] * SECOND)
            return _message("answer", None, None, self._clock)
        if message[0] == "import":
            return _message("answer", library_source(message[1]), None, self._clock)
        _, name, args, kwargs = message[1:]
        if name not in self._specs:
            raise HostileFrame(f"a call to {name!r}, which the session does not have")
        spec = self._specs[name]
        try:
            checked_args, checked_kwargs = spec.check(args, kwargs, self._guesser.closest)
        except (TypeError, ValueError) as error:
            return self._error_message(error)
        self._clock += SECOND
        try:
            value = spec.function(*checked_args, **checked_kwargs)
        except SandboxError:
            raise
        except Exception as error:
            return self._error_message(error)
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(f"It interrupted {_call_text(message)}.")
            raise
        return _message("answer", value, self.take_changed_attributes(), self._clock, origin=spec.name)

    def take_changed_attributes(self) -> Mapping[str, JsonValue] | None:
        """Return the attributes that changed since the plan last received them, or None if none did.

        The caller must send them to the plan: from now on they count as received. Raises BadAnswer if an attribute is
        not JSON.
        """
        if self._attributes is None:
            return None
        encoded = _encode("attributes", self._attributes())
        if encoded == self._sent_attributes:
            return None
        previous, current = from_json(self._sent_attributes), from_json(encoded)
        self._sent_attributes = encoded
        return {name: value for name, value in current.items() if name not in previous or previous[name] != value}

    def _error_message(self, error: Exception) -> bytes:
        text = _error_text(error)[:MAX_MESSAGE].encode("utf-8", "backslashreplace").decode()
        return _message("error", type(error).__name__, text, self.take_changed_attributes(), self._clock)


def _call_text(message: list[Any]) -> str:
    _, line, name, args, kwargs = message
    named = [f"{reprlib.repr(key)[1:-1]}={reprlib.repr(value)}" for key, value in kwargs.items()]
    text = f"{name}({', '.join([*map(reprlib.repr, args), *named])})"
    return f"{text}, called in line {line}" if line else text


def _error_text(error: Exception) -> str:
    if len(error.args) == 1 and isinstance(error.args[0], str):
        return error.args[0]
    try:
        return str(error)
    except Exception as broken:
        raise BadAnswer(f"a function raised {type(error).__name__}, whose message is unreadable: {broken!r}") from error


def _message(*parts: object, origin: str = "the session") -> bytes:
    payload = _encode(origin, parts)
    if _LONG_NUMBER.search(payload):
        try:
            json.loads(payload)  # digits inside a string do no harm
        except ValueError as error:
            reason = f"the answer contains an integer with more than {MAX_DIGITS} digits, which Python cannot parse"
            raise BadAnswer(f"{origin}: {reason}") from error
    if len(payload) > MAX_HOST_FRAME:
        raise BadAnswer(f"{origin}: the answer has {len(payload)} bytes; at most {MAX_HOST_FRAME} are allowed")
    return payload


def _encode(origin: str, value: object) -> bytes:
    try:
        return _to_json(value)
    except (PydanticSerializationError, TypeError, ValueError) as error:
        advice = "return strings, numbers, lists or dicts"
        raise BadAnswer(f"{origin}: the answer is not JSON: {error}; {advice}") from error


def _to_json(value: object) -> bytes:
    """Encode a value as JSON. Lone surrogates, which occur in file names that are not UTF-8, become U+FFFD."""
    try:
        return to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError as error:
        if "surrogates not allowed" not in str(error):
            raise
    text = json.dumps(value, ensure_ascii=False, default=to_jsonable_python)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
