"""What is said of a name that is none: the nearest that there is, and all."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that are most likely meant, best first; case, and - for _, do not count."""
    by_shape = {_shape(each): each for each in known}
    return [by_shape[shape] for shape in get_close_matches(_shape(name), by_shape, n=most)]


def instead(name: str, known: Iterable[str], there_are: str = "there are") -> str:
    """The end of a message about an unknown name: ``; did you mean X? There are X, Y``."""
    listed = list(known)
    meant = nearest(name, listed)
    told = f"did you mean {meant[0]}? {there_are.capitalize()}" if meant else there_are
    return f"; {told} {', '.join(listed)}"


def _shape(name: str) -> str:
    return name.casefold().replace("_", "-")
