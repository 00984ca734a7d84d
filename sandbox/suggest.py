"""Did you mean ...? The one place that guesses which name was meant."""

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from functools import lru_cache

MAX_KNOWN = 500
"""Names among which a guess is made: each costs up to a third of a millisecond."""
MAX_LENGTH = 80
"""Characters of a name that are compared."""
MAX_COMPARED = 3_000
"""Names that may be compared for one cell: at most a second of the host's time."""

Guess = Callable[[str, Collection[str]], str | None]
"""From a name and the known ones to the one that was most likely meant."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was most likely meant, or None. Case and underscores do not count."""
    by_shape = {_shape(candidate): candidate for candidate in sorted(known)}
    found = _nearest(_shape(name), tuple(by_shape)) if len(by_shape) <= MAX_KNOWN else None
    return by_shape[found] if found else None


class Guesses:
    """Guesses like ``closest`` until one cell has used up its comparisons."""

    def __init__(self) -> None:
        self._left = MAX_COMPARED

    def closest(self, name: str, known: Collection[str]) -> str | None:
        """Return the known name that was most likely meant; None once too many were compared."""
        self._left -= len(known)
        return closest(name, known) if self._left >= 0 else None


@lru_cache(256)
def _nearest(shape: str, shapes: tuple[str, ...]) -> str | None:
    return next(iter(get_close_matches(shape, shapes, n=1, cutoff=0.65)), None)


def _shape(name: str) -> str:
    return name[: 2 * MAX_LENGTH].replace("_", "").casefold()[:MAX_LENGTH]
