"""Convert the values and exceptions of a plan to JSON, which is sent to the host.

The host is the process that opened the session. A cell is a piece of plan code that runs as a unit. An argument of a
call that JSON cannot represent is refused, never converted. If JSON cannot represent the value of a cell, the host gets
its repr.
"""

import builtins
from collections.abc import Callable, Container, Mapping
from enum import Enum
from json import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from opcode import opmap
from types import TracebackType
from typing import Any

from planbook.sandbox.protocol import MAX_CALLERS, MAX_DEPTH, MAX_FAULT_TEXT
from planbook.sandbox.suggest import suggestion

SCALARS = frozenset({str, int, float, bool, type(None)})
_CONVERSION_HINTS = {
    str: "; convert it with str(...)",
    int: "; convert it with int(...)",
    float: "; convert it with float(...)",
    dict: "; convert it with dict(...)",
    object: "; convert it with list(...)",
}
"""Maps a base class of a value to a hint on how to make the value JSON. ``object`` is for any other iterable."""
MAX_REPR = 10_000
"""Maximum number of characters of a value's str or repr that are sent to the host."""
JSON_NAMES = "str, int, float, bool, None, list or dict with str keys"


_encoder = c_make_encoder(None, None, encode_basestring, None, ":", ",", False, False, False)
_scan = JSONDecoder().scan_once  # type: ignore[attr-defined]


def parse_json(text: str) -> Any:
    """Parse JSON that has no white space around it. This is three times as fast as ``json.loads``."""
    return _scan(text, 0)[0]


def as_json_value(value: object, depth: int = 0) -> object:
    """Return the value with tuples replaced by lists. Raises TypeError or ValueError if JSON cannot represent it."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if depth >= MAX_DEPTH:
        raise ValueError(f"must be nested at most {MAX_DEPTH} levels deep")
    if kind in (list, tuple):
        return [as_json_value(item, depth + 1) for item in value]  # type: ignore[attr-defined]
    if kind is dict:
        return {_checked_key(key): as_json_value(item, depth + 1) for key, item in value.items()}  # type: ignore[attr-defined]
    raise TypeError(f"must be {JSON_NAMES}, not {kind.__name__}{_conversion_hint(kind)}")


def _conversion_hint(kind: type) -> str:
    if issubclass(kind, Enum):
        return "; pass its .value, if that is one of these"
    base = next(base for base in _CONVERSION_HINTS if issubclass(kind, base))
    return _CONVERSION_HINTS[base] if base is not object or hasattr(kind, "__iter__") else ""


def _checked_key(key: object) -> str:
    if type(key) is not str:
        raise TypeError(f"must be {JSON_NAMES}, not a dict with a key of type {type(key).__name__}")
    return key


def encode_json(value: object) -> bytes:
    """Encode a result of ``as_json_value``. Raises ValueError for nan, infinity and lone surrogates.

    This is three times as fast as ``json.dumps``, since the encoder is built only once.
    """
    try:
        return "".join(_encoder(value, 0)).encode()
    except UnicodeEncodeError:
        raise ValueError("must be text without lone surrogates") from None
    except ValueError as error:
        if "float" not in str(error):  # an integer with too many digits
            raise
        raise ValueError("must not contain inf or nan") from None


def value_for_host(value: object, max_bytes: int) -> object:
    """Return a cell's value if it takes at most ``max_bytes`` bytes of JSON, or else the beginning of its repr."""
    try:
        plain = as_json_value(value)
        if len(encode_json(plain)) <= max_bytes:
            return plain
    except (TypeError, ValueError):
        pass
    return text_of(value, repr)


def text_of(value: object, convert: Callable[[object], str]) -> str:
    """Return the str or repr of a plan's value, truncated to MAX_REPR characters.

    ``convert`` is ``str`` or ``repr``. A class of the plan can make it raise an exception, which the text
    then names.
    """
    try:
        text = str.__getitem__(convert(value), slice(MAX_REPR + 1))  # a plain str, even for a subclass
    except MemoryError:
        raise
    except BaseException as error:
        return f"<{type(value).__name__} that could not be converted to text: {type(error).__name__}>"
    return escape_surrogates(text[:MAX_REPR] + ("..." if len(text) > MAX_REPR else ""))


def escape_surrogates(text: str) -> str:
    """Escape the lone surrogates in a text, which cannot be sent."""
    return text.encode("utf-8", "backslashreplace").decode()


# Exceptions. They are reported as faults, with the line of the plan and a hint.

RAISE = opmap["RAISE_VARARGS"]
RawFault = dict[str, object]
"""The fields of a Fault (``sandbox/types.py``)."""
MEMORY_FAULT: RawFault = {"kind": "limit", "type": "memory", "message": ""}
"""The fault of a cell that needs too much memory. The host adds the message, since it knows the limit."""
MAX_MESSAGE = 4_000
MAX_TEXT = 300
"""Maximum length of a source line, of a hint, and of an exception's name, so that a fault fits into a frame."""


class WorkerCell:
    """A cell that has begun. Each part of a growing cell adds its source, after an empty line for each earlier line."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        """The lines so far, each with its newline. The module ``linecache`` shows them in tracebacks."""
        self.value: object = None
        """The value of the last part, while more parts may follow."""

    def add(self, source: str) -> None:
        """Add the source of the cell or of its next part."""
        text = source.lstrip("\n")
        before = len(source) - len(text)
        self.lines += ["\n"] * (before - len(self.lines))
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # as CPython counts them
        self.lines[before:] = [f"{line}\n" for line in lines]

    def line(self, number: int) -> str:
        """Return the text of a line, or "" if there is no such line. Lines are numbered from 1."""
        return self.lines[number - 1].removesuffix("\n") if 0 < number <= len(self.lines) else ""


def fault_of(error: BaseException, file: str, cells: Mapping[str, WorkerCell], names: Mapping[str, object]) -> RawFault:
    """Return the fault for an exception that ended a cell.

    ``file`` is the file name of the cell in tracebacks. ``cells`` maps file names to the session's cells so far.
    ``names`` is the session's namespace, which is searched for names that are similar to an undefined one.
    """
    if isinstance(error, MemoryError) and not _raised_by_plan(error.__traceback__, cells):
        return MEMORY_FAULT
    lines, origin_note = _locate(error.__traceback__, file, cells)
    line = lines.pop() if lines else None
    report: RawFault = {
        "kind": "raised",
        "type": type(error).__name__[:MAX_TEXT],
        "message": (text_of(error, str)[:MAX_MESSAGE] + origin_note)[:MAX_FAULT_TEXT],
        "hint": _hint(error, names)[:MAX_TEXT],
        "line": line,
        "source": cells[file].line(line)[:MAX_TEXT] if line else "",
    }
    return {**report, "callers": lines[-MAX_CALLERS:]} if lines else report


def _raised_by_plan(trace: TracebackType | None, files: Container[str]) -> bool:
    """Return whether a ``raise`` in the plan's own code, not a lack of memory, caused a MemoryError."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename not in files:
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == RAISE


def _locate(trace: TracebackType | None, file: str, cells: Mapping[str, WorkerCell]) -> tuple[list[int], str]:
    """Return the numbers of the cell's lines in the traceback, outermost first, and a note for the message.

    If the exception was raised in a function that an earlier cell defined, the note names the line there. Otherwise the
    note is "".
    """
    lines, origin = list[int](), None
    while trace is not None:
        file_of_code = trace.tb_frame.f_code.co_filename
        if file_of_code == file:
            lines.append(trace.tb_lineno)
            origin = None
        elif file_of_code in cells:
            origin = trace
        trace = trace.tb_next
    if origin is None:
        return lines, ""
    code, earlier_cell = origin.tb_frame.f_code, cells[origin.tb_frame.f_code.co_filename]
    text = earlier_cell.line(origin.tb_lineno).strip()
    return lines, f" (in {code.co_name}(), line {origin.tb_lineno} of {earlier_cell.name}: {text})"


def _hint(error: BaseException, names: Mapping[str, object]) -> str:
    try:
        name = error.name if isinstance(error, (AttributeError, NameError)) else None
        if type(name) is not str:
            return ""
        if isinstance(error, AttributeError):
            return "use dir(x)" if name == "__dict__" else escape_surrogates(_did_you_mean(name, dir(error.obj)))
        return _did_you_mean(name, list(names)) or _did_you_mean(name, dir(builtins))
    except BaseException:
        return ""  # a class that the plan defines can raise anything when it is examined


def _did_you_mean(name: str, known: list[str]) -> str:
    """Return a suggestion, or "" if no known name is similar.

    Also return "" for a known name: it exists, but has no value, like an empty slot.
    """
    if name in known:
        return ""
    return suggestion(name, [word for word in known if not word.startswith("_")])
