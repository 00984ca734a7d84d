"""Suggestions for misspelt names: "did you mean ...?"."""

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from functools import lru_cache

MAX_KNOWN_NAMES = 500
"""If there are more known names than this, none is suggested, since each comparison takes up to a third of a
millisecond.
"""
MAX_COMPARED_CHARS = 80
"""Number of characters at the beginning of each name that are compared."""
MAX_COMPARISONS = 3_000
"""Maximum number of comparisons for one cell (a piece of plan code that runs as a unit). They take the host at most a
second.
"""

Guess = Callable[[str, Collection[str]], str | None]
"""A function such as ``closest``: takes a name and the known names, and returns the one most likely meant, or None."""


def nearest_names(name: str, known_names: Iterable[str], limit: int = 1) -> list[str]:
    """Return up to ``limit`` known names that a misspelt name may mean, the most likely first.

    Case, hyphens and underscores are ignored: ``goto`` is the same as ``go_to``.
    """
    by_normalized = {_normalized(candidate): candidate for candidate in sorted(known_names)}
    if len(by_normalized) > MAX_KNOWN_NAMES:
        return []
    return [by_normalized[near] for near in _nearest(_normalized(name), tuple(by_normalized), limit)]


def closest(name: str, known_names: Iterable[str]) -> str | None:
    """Return the known name that was most likely meant, or None if no name is close."""
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
    """Suggests names as ``closest`` does, until it has made MAX_COMPARISONS comparisons."""

    def __init__(self) -> None:
        self._remaining = MAX_COMPARISONS

    def closest(self, name: str, known_names: Collection[str]) -> str | None:
        """Return the known name that was most likely meant, or None if no name is close or no comparisons are left."""
        self._remaining -= len(known_names)
        return closest(name, known_names) if self._remaining >= 0 else None


@lru_cache(256)
def _nearest(name: str, known_names: tuple[str, ...], limit: int) -> list[str]:
    return get_close_matches(name, known_names, n=limit, cutoff=0.65)


def _normalized(name: str) -> str:
    return name[: 2 * MAX_COMPARED_CHARS].replace("_", "").replace("-", "").casefold()[:MAX_COMPARED_CHARS]
