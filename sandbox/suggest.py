"""Suggestions for misspelt names: "did you mean ...?"."""

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from functools import lru_cache

MAX_KNOWN = 500
"""If there are more known names than this, no guess is made, since each comparison takes up to a third of a
millisecond.
"""
MAX_LENGTH = 80
"""Only this many characters at the beginning of a name are compared."""
MAX_COMPARED = 3_000
"""Maximum number of names that are compared for one cell (a piece of plan code that runs as a unit). Comparing them
takes the host at most a second.
"""

Guess = Callable[[str, Collection[str]], str | None]
"""A function such as ``closest``: takes a name and the known names, and returns the known name that was most likely
meant, or None.
"""


def nearest_names(name: str, known_names: Iterable[str], limit: int = 1) -> list[str]:
    """Return up to ``limit`` known names that a misspelt name may mean, the most likely first.

    Case, hyphens and underscores are ignored. For example, ``goto`` is the same as ``go_to``.
    """
    by_shape = {_shape(candidate): candidate for candidate in sorted(known_names)}
    if len(by_shape) > MAX_KNOWN:
        return []
    return [by_shape[shape] for shape in _nearest(_shape(name), tuple(by_shape), limit)]


def closest(name: str, known_names: Iterable[str]) -> str | None:
    """Return the known name that was most likely meant, or None."""
    return next(iter(nearest_names(name, known_names)), None)


def suggestion(name: str, known_names: Iterable[str]) -> str:
    """Return ``did you mean `X`?``, or "" if no name is close."""
    near = closest(name, known_names)
    return f"did you mean `{near}`?" if near else ""


def did_you_mean(name: str, known_names: Iterable[str], introduction: str = "known:") -> str:
    """Return the end of a message about an unknown name: ``; did you mean X? Known: X, Y``.

    ``introduction``, in the example "known:", precedes the list of known names.
    """
    names = list(known_names)
    guess = closest(name, names)
    hint = f"did you mean {guess}? {introduction.capitalize()}" if guess else introduction
    return f"; {hint} {', '.join(names)}"


class Guesser:
    """Suggests names as ``closest`` does. After MAX_COMPARED comparisons it makes no more suggestions."""

    def __init__(self) -> None:
        self._remaining = MAX_COMPARED

    def closest(self, name: str, known_names: Collection[str]) -> str | None:
        """Return the known name that was most likely meant, or None if no name is close or no comparisons are left."""
        self._remaining -= len(known_names)
        return closest(name, known_names) if self._remaining >= 0 else None


@lru_cache(256)
def _nearest(shape: str, shapes: tuple[str, ...], limit: int) -> list[str]:
    return get_close_matches(shape, shapes, n=limit, cutoff=0.65)


def _shape(name: str) -> str:
    return name[: 2 * MAX_LENGTH].replace("_", "").replace("-", "").casefold()[:MAX_LENGTH]
