"""Suggestions for misspelt names: "did you mean ...?"."""

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from functools import lru_cache

MAX_KNOWN = 500
"""Number of known names beyond which no guess is made: each costs up to a third of a millisecond."""
MAX_LENGTH = 80
"""Maximum characters of a name that are compared."""
MAX_COMPARED = 3_000
"""Maximum number of names that are compared for one cell: at most a second of the host's time."""

Guess = Callable[[str, Collection[str]], str | None]
"""Maps a name and the known names to the one that was most likely meant, or to None."""


def nearest_names(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return up to ``limit`` names that were most likely meant, best first, ignoring case, hyphens and underscores."""
    by_shape = {_shape(candidate): candidate for candidate in sorted(known)}
    if len(by_shape) > MAX_KNOWN:
        return []
    return [by_shape[shape] for shape in _nearest(_shape(name), tuple(by_shape), limit)]


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was most likely meant, or None."""
    return next(iter(nearest_names(name, known)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean `X`?``, or "" if no name is close."""
    near = closest(name, known)
    return f"did you mean `{near}`?" if near else ""


def did_you_mean(name: str, known: Iterable[str], there_are: str = "there are") -> str:
    """Return the end of a message about an unknown name: ``; did you mean X? There are X, Y``."""
    names = list(known)
    guess = closest(name, names)
    hint = f"did you mean {guess}? {there_are.capitalize()}" if guess else there_are
    return f"; {hint} {', '.join(names)}"


class Guesses:
    """Suggests names as ``closest`` does, with at most MAX_COMPARED comparisons."""

    def __init__(self) -> None:
        self._left = MAX_COMPARED

    def closest(self, name: str, known: Collection[str]) -> str | None:
        """Return the known name that was most likely meant; None after MAX_COMPARED comparisons."""
        self._left -= len(known)
        return closest(name, known) if self._left >= 0 else None


@lru_cache(256)
def _nearest(shape: str, shapes: tuple[str, ...], limit: int) -> list[str]:
    return get_close_matches(shape, shapes, n=limit, cutoff=0.65)


def _shape(name: str) -> str:
    return name[: 2 * MAX_LENGTH].replace("_", "").replace("-", "").casefold()[:MAX_LENGTH]
