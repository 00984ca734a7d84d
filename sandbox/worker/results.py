"""Values and exceptions of a plan as JSON. A value without an equal in JSON is refused, never converted."""

import builtins
import difflib
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

# Values.

SCALARS = frozenset({str, int, float, bool, type(None)})
_REMEDIES = {
    str: "; str(...) makes a str of it",
    int: "; int(...) makes an int of it",
    float: "; float(...) makes a float of it",
    dict: "; dict(...) makes a dict of it",
    object: "; list(...) makes a list of it",
}
"""The base of a value's class to how one of JSON's own is made of the value; the last only of what can be iterated."""
MAX_REPR = 10_000
"""Characters of a value's repr that come back to the host."""

JSON_NAMES = "str, int, float, bool, None, list or dict with str keys"


def _no_json(value: object) -> NoReturn:
    raise TypeError(f"must be {JSON_NAMES}, not {type(value).__name__}")


_encoder = c_make_encoder(None, _no_json, encode_basestring, None, ":", ",", False, False, False)
_scan = JSONDecoder().scan_once  # type: ignore[attr-defined]


def encode(value: object) -> str:
    """Compact JSON by the library's encoder, made once: a third of the time of ``json.dumps``. Raises ValueError."""
    return "".join(_encoder(value, 0))


def decode(text: str) -> Any:
    """The value of JSON that the host wrote, so without blanks around it; a third of the time of ``json.loads``."""
    return _scan(text, 0)[0]


def exact(value: object, depth: int = 0) -> object:
    """The value with tuples as lists. Raises TypeError or ValueError for what JSON cannot hold."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if depth >= MAX_DEPTH:
        raise ValueError(f"lists and dicts may be nested at most {MAX_DEPTH} deep")
    if kind in (list, tuple):
        return [exact(item, depth + 1) for item in value]  # type: ignore[attr-defined]
    if kind is dict:
        return {_text_key(key): exact(item, depth + 1) for key, item in value.items()}  # type: ignore[attr-defined]
    raise TypeError(f"must be {JSON_NAMES}, not {kind.__name__}{_remedy(kind)}")


def _remedy(kind: type) -> str:
    """How to make one of JSON's own of such a value; nothing where that is not plain."""
    if issubclass(kind, Enum):
        return "; its .value may be one"
    base = next(base for base in _REMEDIES if issubclass(kind, base))
    return _REMEDIES[base] if base is not object or hasattr(kind, "__iter__") else ""


def _text_key(key: object) -> str:
    if type(key) is not str:
        raise TypeError(f"must be {JSON_NAMES}, not a dict with a key of type {type(key).__name__}")
    return key


def to_bytes(value: object) -> bytes:
    """The JSON of a value that ``exact`` let through. Raises ValueError for nan, infinity and lone surrogates."""
    try:
        return encode(value).encode()
    except UnicodeEncodeError:
        raise ValueError("must be text without lone surrogates") from None


def shown(value: object, limit: int) -> object:
    """A cell's value for the host: JSON of at most ``limit`` bytes where it can be, else its repr, cut."""
    try:
        plain = exact(value)
        if len(to_bytes(plain)) <= limit:
            return plain
    except (TypeError, ValueError):
        pass
    return text_of(value, repr)


def text_of(value: object, how: Callable[[object], str]) -> str:
    """``str`` or ``repr`` of a plan's value: cut, printable, whatever the plan's class does."""
    try:
        text = str.__getitem__(how(value), slice(MAX_REPR + 1))  # a plain str, whatever class the plan made of it
    except MemoryError:
        raise
    except BaseException as error:
        return f"<{type(value).__name__} whose text could not be made: {type(error).__name__}>"
    return printable(text[:MAX_REPR] + ("..." if len(text) > MAX_REPR else ""))


def printable(text: str) -> str:
    """The text with lone surrogates spelt out."""
    return text.encode("utf-8", "backslashreplace").decode()


# Exceptions, reported with the plan's line and a hint.

RAISE = opmap["RAISE_VARARGS"]
Report = dict[str, object]
"""The fields of sandbox.types.Fault."""
MEMORY: Report = {"kind": "limit", "type": "memory", "message": ""}
"""The host writes the message: it knows the limit."""
MAX_MESSAGE = 4_000
MAX_TEXT = 300
"""Characters of a source line, a hint, or the message of one refusal among many: together they must fit a frame."""


@dataclass
class Cell:
    """A compiled cell and where its code comes from; one that comes in parts grows.

    Each part's source begins with as many empty lines as stand before it in the whole.
    """

    name: str
    source: str
    compiled: list[tuple[CodeType, CodeType | None]]
    """Of each part its code and the final expression, where there is one."""

    def goes_on_in(self, code: CodeType) -> bool:
        """Whether the code is a further part of this cell: no other cell has its file name."""
        return code.co_filename == self.compiled[0][0].co_filename

    def add(self, source: str, code: CodeType, tail: CodeType | None) -> None:
        """Take in a further part."""
        after = source.lstrip("\n")
        lines_before = len(source) - len(after)
        if after:
            self.source += "\n" * (lines_before - self.source.count("\n")) + after
        self.compiled.append((code, tail))
        self.__dict__.pop("codes", None)

    @cached_property
    def codes(self) -> frozenset[int]:
        """The id of every code object made from this cell's source; equal code of two cells is told apart."""
        roots = (root for part in self.compiled for root in part)
        return frozenset(id(code) for root in roots if root is not None for code in _nested(root))

    def line(self, number: int) -> str:
        """The text of a line, counted from 1; empty where there is none."""
        lines = self.source.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def raised(error: BaseException, cell: Cell, earlier: list[Cell], names: Mapping[str, object]) -> Report:
    """The fault of a cell that raised."""
    if isinstance(error, MemoryError) and not _raised_by_plan(error.__traceback__, [cell, *earlier]):
        return MEMORY
    lines, deeper = _place(error.__traceback__, cell, earlier)
    line = lines.pop() if lines else None
    message = text_of(error, str)[:MAX_MESSAGE] + deeper
    source = cell.line(line) if line else ""
    report = _report("raised", type(error).__name__, message, line, None, source, _hint(error, names))
    return {**report, "callers": lines[-MAX_CALLERS:]} if lines else report


def _raised_by_plan(trace: TracebackType | None, cells: list[Cell]) -> bool:
    """Whether a ``raise`` of a plan's own code made the exception, and not a lack of memory."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not any(id(trace.tb_frame.f_code) in cell.codes for cell in cells):
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == RAISE


def _report(
    kind: str, fault_type: str, message: str, line: int | None, column: int | None, source: str, hint: str
) -> Report:
    place: Report = {"line": line, "column": column, "source": source[:MAX_TEXT]}
    told = {"type": fault_type[:MAX_TEXT], "message": message[:MAX_FAULT_TEXT], "hint": hint[:MAX_TEXT]}
    return {"kind": kind, **told, **place}


def _place(trace: TracebackType | None, cell: Cell, earlier: list[Cell]) -> tuple[list[int], str]:
    """The lines of the cell itself, outermost first, and where in an earlier cell's function it went wrong below."""
    lines, deeper = list[int](), ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if id(code) in cell.codes:
            lines.append(trace.tb_lineno)
            deeper = ""
        else:
            for other in earlier:
                if id(code) in other.codes:
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
            return printable(_near(name, dir(error.obj)))
        return _near(name, list(names)) or _near(name, dir(builtins), 0.7)
    except BaseException:
        return ""  # the exception or its object is of a class of the plan's own, and raises when it is looked at


def _near(name: str, known: list[str], alike: float = 0.6) -> str:
    """A suggestion; none for a name that is there and has no value, as of an empty slot."""
    if name in known:
        return ""
    shown = [word for word in known if not word.startswith("_")]
    found = difflib.get_close_matches(name, shown, n=1, cutoff=alike)
    return f"did you mean `{found[0]}`?" if found else ""
