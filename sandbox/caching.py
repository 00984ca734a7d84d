"""A cache for functions that take plan code. Since plans may be long, it is limited in characters, not in entries."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from sys import getsizeof
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
OVERHEAD = 1_000
"""Number of characters that each entry counts in addition to its strings."""


def cached_up_to(max_chars: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that caches the most recently used results of a function.

    The cached arguments and results have at most ``max_chars`` characters in all, including the contents of tuples and
    dataclasses. A frozenset counts only with its own size, since most of its strings are shared.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached: dict[object, R] = {}
        lock, size = Lock(), 0

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            nonlocal size
            key = args, tuple(kwargs.items())
            with lock:
                if key in cached:
                    cached[key] = cached.pop(key)  # move it to the end: the dict is in order of last use
                    return cached[key]
            result = function(*args, **kwargs)
            with lock:
                size += 0 if key in cached else _size((key, result))
                cached[key] = result
                while size > max_chars:
                    oldest = next(iter(cached))
                    size -= _size((oldest, cached.pop(oldest)))
            return result

        return call

    return decorate


def _size(entry: tuple[object, ...]) -> int:
    return OVERHEAD + _characters(entry)


def _characters(value: object) -> int:
    if isinstance(value, tuple):
        return sum(map(_characters, value))
    if isinstance(value, frozenset):
        return getsizeof(value)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(_characters(getattr(value, field.name)) for field in fields(value))
    return len(value) if isinstance(value, str) else 0
