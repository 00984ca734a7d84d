"""Plan values as JSON, exactly: what has no equal in JSON is refused, never bent."""

from collections.abc import Callable
from enum import Enum
from json import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from planbook.sandbox.protocol import MAX_DEPTH

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
