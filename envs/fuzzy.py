"""How alike two texts are, as the package thefuzz counts it, which WebShop and WebArena use."""


def token_set_ratio(one: str, other: str) -> int:
    """Return how alike the sets of words are, from 0 to 100: the best of three pairs of texts.

    The pairs are what both have against all that either has, and what only one has against what only the other has.
    """
    first, second = set(_words(one)), set(_words(other))
    if not first or not second:
        return 0
    shared, only_first, only_second = first & second, first - second, second - first
    if shared and not (only_first and only_second):
        return 100
    left, right = " ".join(sorted(only_first)), " ".join(sorted(only_second))
    both = len(" ".join(shared))
    space = bool(both)
    whole_left, whole_right = both + space + len(left), both + space + len(right)
    best = _ratio(len(left) + len(right) - 2 * _common(left, right), whole_left + whole_right)
    if shared:
        best = max(best, _ratio(space + len(left), both + whole_left), _ratio(space + len(right), both + whole_right))
    return round(best)


def _ratio(distance: int, length: int) -> float:
    return 100 - 100 * distance / length if length else 100.0


def _common(one: str, other: str) -> int:
    """Return the length of the longest common subsequence, by the bits of one number (Hyyrö, 2004)."""
    places = dict.fromkeys(one, 0)
    for place, letter in enumerate(one):
        places[letter] |= 1 << place
    mask = (1 << len(one)) - 1
    row = mask
    for letter in other:
        matched = row & places.get(letter, 0)
        row = ((row + matched) | (row - matched)) & mask
    return len(one) - row.bit_count()


def _words(text: str) -> list[str]:
    """Return the words, as thefuzz reads them: letters and digits in small letters, without those from 128 to 255."""
    return "".join(each if each.isalnum() else " " for each in text.translate(_NOT_ASCII).lower()).split()


_NOT_ASCII = dict.fromkeys(range(128, 256))
