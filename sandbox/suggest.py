"""Did you mean ...?"""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_KNOWN = 500
"""Names among which it is worth guessing: each takes up to a third of a millisecond."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that the plan most likely meant; case and underscores count little."""
    by_shape = {_shape(candidate): candidate for candidate in sorted(known)}
    if len(by_shape) > MAX_KNOWN:
        return None
    found = get_close_matches(_shape(name), by_shape, n=1, cutoff=0.65)
    return by_shape[found[0]] if found else None


def _shape(name: str) -> str:
    return name.replace("_", "").casefold()[:80]
