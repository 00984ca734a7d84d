"""Caches that no plan can fill: what they keep is bounded in characters, not only in calls."""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_Key = tuple[tuple[object, ...], tuple[tuple[str, object], ...]]
EACH = 1_000
"""Characters that a call counts for besides its texts."""


def cached_up_to(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep the results of the last calls of a function, as long as all texts given and returned fit into ``most``."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        return wraps(function)(_Cache(function, most))

    return decorate


class _Cache(Generic[P, R]):
    """A function that keeps what it returned, the calls that were made last, up to a size."""

    def __init__(self, function: Callable[P, R], most: int) -> None:
        self._function, self._most = function, most
        self._found: dict[_Key, R] = {}
        self._size, self._lock = 0, Lock()

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        key = args, tuple(named.items())
        with self._lock:
            if key in self._found:
                found = self._found[key] = self._found.pop(key)
                return found
        made = self._function(*args, **named)
        with self._lock:
            self._keep(key, made)
        return made

    def _keep(self, key: _Key, made: R) -> None:
        self._size += _size(key, made) if key not in self._found else 0
        self._found[key] = made
        while self._size > self._most:
            oldest = next(iter(self._found))
            self._size -= _size(oldest, self._found.pop(oldest))


def _size(key: _Key, made: object) -> int:
    return EACH + _characters((key, made))


def _characters(value: object) -> int:
    if isinstance(value, tuple):
        return sum(map(_characters, value))
    return len(value) if isinstance(value, str) else 0
