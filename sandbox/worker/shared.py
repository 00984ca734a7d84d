"""What the library keeps for the whole process, or trusts of a number: only exact values come into it.

A key of a plan's class would answer later look-ups with its own ``__eq__``, those of other sessions too.
"""

import _strptime  # type: ignore[import-not-found]
import enum
import fractions
import re
import statistics
import textwrap
from collections.abc import Callable
from typing import Any

_TEXTS = (str, bytes)
_TEMPLATES = "_compile_repl" if hasattr(re, "_compile_repl") else "_compile_template"  # before and since Python 3.12
_compile_template: Any = getattr(re, _TEMPLATES)
_parse_time: Callable[..., Any] = _strptime._strptime
_convert: Callable[[Any, type], object] = statistics._convert  # type: ignore[attr-defined]
_missing: Callable[[Any, object], Any] = enum.Flag._missing_.__func__  # type: ignore[attr-defined]


def guard_shared() -> None:
    """From now on nothing of a plan's own comes into what the library shares, and statistics makes only numbers."""
    for name in {"_cache", "_cache2"} & vars(re).keys():
        setattr(re, name, _ExactPatterns(getattr(re, name)))
    setattr(re, _TEMPLATES, _exact_template)
    library: Any = _strptime
    library._strptime = _exact_time
    library = statistics
    library._convert = _number
    library = fractions
    library.super = _allocator
    for owner, name in ((textwrap.TextWrapper, "unicode_whitespace_trans"), (re, "_special_chars_map")):
        table = getattr(owner, name)  # the library hands it to a plan's own texts, to translate themselves
        setattr(owner, name, tuple(table.get(n, n) for n in range(max(table) + 1)))
    enum.Flag._missing_ = classmethod(_exact_flag)  # type: ignore[method-assign, assignment]


class _ExactPatterns(dict[tuple[type, Any, Any], Any]):
    """Compiled patterns by type, text and flags."""

    def __setitem__(self, key: tuple[type, Any, Any], pattern: Any) -> None:
        if key[0] in _TEXTS and type(key[2]) is int:
            super().__setitem__(key, pattern)


def _exact_template(*given: Any) -> Any:
    """A pattern and the template of what it is replaced with, in either order."""
    exact = all(type(each.pattern if type(each) is re.Pattern else each) in _TEXTS for each in given)
    return (_compile_template if exact else _compile_template.__wrapped__)(*given)


_exact_template.cache_clear = _compile_template.cache_clear  # type: ignore[attr-defined]


def _exact_time(text: Any, format: Any = "%a %b %d %H:%M:%S %Y") -> Any:
    return _parse_time(text, str.__str__(format) if isinstance(format, str) else format)


def _exact_flag(cls: Any, value: Any) -> Any:
    """The member of a value; it keeps the value, and is kept by it."""
    is_derived = isinstance(value, int) and type(value) is not bool
    return _missing(cls, int.__index__(value) if is_derived else value)


def _number(value: Any, kind: type) -> object:
    """The value as one of the kind of the data; of classes that would be ``type``, which tells what they are of."""
    if issubclass(kind, type):
        raise TypeError(f"can't convert type '{kind.__name__}' to numerator/denominator")
    return _convert(value, kind)


def _allocator(kind: type, cls: type) -> type:
    """What stands for ``super()`` where a Fraction is made: its attributes are set, so it must be a new object."""
    if kind not in type.mro(cls):
        raise TypeError(f"{kind.__name__}.__new__() takes a class derived from {kind.__name__}")
    return object
