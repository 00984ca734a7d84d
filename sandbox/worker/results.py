"""Values and exceptions of a plan as JSON. A value that JSON does not have is refused, never converted."""

import builtins
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from json import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from opcode import opmap
from types import CodeType, TracebackType
from typing import Any, NoReturn

from planbook.sandbox.protocol import MAX_CALLERS, MAX_DEPTH, MAX_FAULT_TEXT
from planbook.sandbox.suggest import suggestion

# Values.

SCALARS = frozenset({str, int, float, bool, type(None)})
_REMEDIES = {
    str: "; str(...) makes a str of it",
    int: "; int(...) makes an int of it",
    float: "; float(...) makes a float of it",
    dict: "; dict(...) makes a dict of it",
    object: "; list(...) makes a list of it",
}
"""Hints for converting a value to JSON, by its base class. The last one is for iterables."""
MAX_REPR = 10_000
"""Maximum characters of a value's repr that are sent to the host."""
JSON_NAMES = "str, int, float, bool, None, list or dict with str keys"


def _no_json(value: object) -> NoReturn:
    raise TypeError(f"must be {JSON_NAMES}, not {type(value).__name__}")


_encoder = c_make_encoder(None, _no_json, encode_basestring, None, ":", ",", False, False, False)
_scan = JSONDecoder().scan_once  # type: ignore[attr-defined]


def encode(value: object) -> str:
    """Return compact JSON, three times as fast as ``json.dumps``: the encoder is built once.

    Raises TypeError or ValueError.
    """
    return "".join(_encoder(value, 0))


def decode(text: str) -> Any:
    """Return the value of JSON that has no blanks around it, three times as fast as ``json.loads``."""
    return _scan(text, 0)[0]


def as_json(value: object, depth: int = 0) -> object:
    """Return the value as JSON has it, with tuples as lists. Raises TypeError or ValueError if JSON cannot hold it."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if depth >= MAX_DEPTH:
        raise ValueError(f"lists and dicts may be nested at most {MAX_DEPTH} deep")
    if kind in (list, tuple):
        return [as_json(item, depth + 1) for item in value]  # type: ignore[attr-defined]
    if kind is dict:
        return {_text_key(key): as_json(item, depth + 1) for key, item in value.items()}  # type: ignore[attr-defined]
    raise TypeError(f"must be {JSON_NAMES}, not {kind.__name__}{_remedy(kind)}")


def _remedy(kind: type) -> str:
    if issubclass(kind, Enum):
        return "; its .value may be one"
    base = next(base for base in _REMEDIES if issubclass(kind, base))
    return _REMEDIES[base] if base is not object or hasattr(kind, "__iter__") else ""


def _text_key(key: object) -> str:
    if type(key) is not str:
        raise TypeError(f"must be {JSON_NAMES}, not a dict with a key of type {type(key).__name__}")
    return key


def to_bytes(value: object) -> bytes:
    """Return a value from ``as_json``, encoded. Raises ValueError for nan, infinity and lone surrogates."""
    try:
        return encode(value).encode()
    except UnicodeEncodeError:
        raise ValueError("must be text without lone surrogates") from None


def value_for_host(value: object, limit: int) -> object:
    """Return a cell's value for the host: itself if it takes at most ``limit`` bytes of JSON, else its repr, cut."""
    try:
        plain = as_json(value)
        if len(to_bytes(plain)) <= limit:
            return plain
    except (TypeError, ValueError):
        pass
    return text_of(value, repr)


def text_of(value: object, convert: Callable[[object], str]) -> str:
    """Return ``str`` or ``repr`` of a plan's value: cut and printable, even if the plan's class misbehaves."""
    try:
        text = str.__getitem__(convert(value), slice(MAX_REPR + 1))  # a plain str, whatever subclass the plan returns
    except MemoryError:
        raise
    except BaseException as error:
        return f"<{type(value).__name__} whose text could not be made: {type(error).__name__}>"
    return printable(text[:MAX_REPR] + ("..." if len(text) > MAX_REPR else ""))


def printable(text: str) -> str:
    """Return the text with lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


# Exceptions, reported with the plan's line and a hint.

RAISE = opmap["RAISE_VARARGS"]
Report = dict[str, object]
"""The fields of sandbox.types.Fault."""
MEMORY: Report = {"kind": "limit", "type": "memory", "message": ""}
"""The host adds the message, since it knows the limit."""
MAX_MESSAGE = 4_000
MAX_TEXT = 300
"""Maximum characters of a source line, a hint, or the exception's name. Together they must fit into a frame."""


@dataclass
class WorkerCell:
    """A compiled cell and its source. Both grow if the cell is run in parts.

    The source of each part begins with as many empty lines as there are lines before it.
    """

    name: str
    source: str
    compiled: list[tuple[CodeType, CodeType | None]]
    """The code of each part, and its final expression, if any."""

    def is_continued_by(self, code: CodeType) -> bool:
        """Return whether the code is a further part of this cell. Each cell has its own file name."""
        return code.co_filename == self.compiled[0][0].co_filename

    def add(self, source: str, code: CodeType, tail: CodeType | None) -> None:
        """Add a further part."""
        after = source.lstrip("\n")
        lines_before = len(source) - len(after)
        if after:
            self.source += "\n" * (lines_before - self.source.count("\n")) + after
        self.compiled.append((code, tail))
        self.__dict__.pop("codes", None)

    @cached_property
    def codes(self) -> frozenset[int]:
        """The ids of all code objects of this cell. Equal code of two cells has different ids."""
        roots = (root for part in self.compiled for root in part)
        return frozenset(id(code) for root in roots if root is not None for code in _nested_codes(root))

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1; empty where there is none."""
        lines = self.source.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # as CPython counts them
        return lines[number - 1] if 0 < number <= len(lines) else ""


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested_codes(constant)


def fault_of(error: BaseException, cell: WorkerCell, earlier: list[WorkerCell], names: Mapping[str, object]) -> Report:
    """Return the fault of a cell that raised."""
    if isinstance(error, MemoryError) and not _raised_by_plan(error.__traceback__, [cell, *earlier]):
        return MEMORY
    lines, deeper = _place(error.__traceback__, cell, earlier)
    line = lines.pop() if lines else None
    report: Report = {
        "kind": "raised",
        "type": type(error).__name__[:MAX_TEXT],
        "message": (text_of(error, str)[:MAX_MESSAGE] + deeper)[:MAX_FAULT_TEXT],
        "hint": _hint(error, names)[:MAX_TEXT],
        "line": line,
        "source": cell.line(line)[:MAX_TEXT] if line else "",
    }
    return {**report, "callers": lines[-MAX_CALLERS:]} if lines else report


def _raised_by_plan(trace: TracebackType | None, cells: list[WorkerCell]) -> bool:
    """Return whether a ``raise`` in a plan's own code raised the exception, not a lack of memory."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not any(id(trace.tb_frame.f_code) in cell.codes for cell in cells):
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == RAISE


def _place(trace: TracebackType | None, cell: WorkerCell, earlier: list[WorkerCell]) -> tuple[list[int], str]:
    """Return the cell's lines in the traceback, outermost first, and any deeper place in an earlier cell, as text."""
    lines, deeper = list[int](), ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if id(code) in cell.codes:
            lines.append(trace.tb_lineno)
            deeper = ""
        elif other := next((other for other in earlier if id(code) in other.codes), None):
            text = other.line(trace.tb_lineno).strip()
            deeper = f" (in {code.co_name}(), line {trace.tb_lineno} of {other.name}: {text})"
        trace = trace.tb_next
    return lines, deeper


def _hint(error: BaseException, names: Mapping[str, object]) -> str:
    try:
        name = error.name if isinstance(error, (AttributeError, NameError)) else None
        if type(name) is not str:
            return ""
        if isinstance(error, AttributeError):
            return printable(_did_you_mean(name, dir(error.obj)))
        return _did_you_mean(name, list(names)) or _did_you_mean(name, dir(builtins))
    except BaseException:
        return ""  # the exception or its object has a class of the plan, which may raise when it is examined


def _did_you_mean(name: str, known: list[str]) -> str:
    """Return a suggestion; none for a name that exists without a value, such as an empty slot."""
    if name in known:
        return ""
    return suggestion(name, [word for word in known if not word.startswith("_")])
