"""How alike two texts are, as the package thefuzz counts it, which WebShop and WebArena use."""

from rapidfuzz import fuzz, utils

_NOT_ASCII = dict.fromkeys(range(128, 256))


def token_set_ratio(one: str, other: str) -> int:
    """Return how alike the sets of words are, from 0 to 100."""
    return round(fuzz.token_set_ratio(_folded(one), _folded(other)))


def _folded(text: str) -> str:
    return utils.default_process(text.translate(_NOT_ASCII))
