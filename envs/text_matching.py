"""Compare texts: token set ratio and BM25."""

from collections import Counter
from collections.abc import Collection, Sequence
from math import log


def token_set_ratio(one: str, other: str) -> int:
    """Return the similarity of the two sets of words, from 0 to 100: the best of three pairs of texts.

    The pairs are the shared words and all words of the one, the shared words and all words of the other, and all words
    of both.
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
    best = _ratio(len(left) + len(right) - 2 * _common_length(left, right), whole_left + whole_right)
    if shared:
        best = max(best, _ratio(space + len(left), both + whole_left), _ratio(space + len(right), both + whole_right))
    return round(best)


def _ratio(distance: int, length: int) -> float:
    return 100 - 100 * distance / length if length else 100.0


def _common_length(one: str, other: str) -> int:
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
    """Return the words as thefuzz reads them: lower-case letters and digits, without characters 128 to 255."""
    return "".join(letter if letter.isalnum() else " " for letter in text.translate(_NOT_ASCII).lower()).split()


_NOT_ASCII = dict.fromkeys(range(128, 256))


SATURATION, LENGTH = 1.5, 0.75
"""``k1`` and ``b``: how soon repeating a word stops counting, and how much long texts are penalized."""


class BM25:
    """An index of texts, each given as its words."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._count, total = len(texts), sum(map(len, texts))
        self._weights: dict[str, dict[int, float]] = {}
        for position, text in enumerate(texts):
            norm = SATURATION * (1 - LENGTH + LENGTH * len(text) * self._count / max(total, 1))
            for word, count in Counter(text).items():
                self._weights.setdefault(word, {})[position] = count / (count + norm)

    def scores(self, words: Collection[str]) -> list[float]:
        """Return the score of each text, in order. Words that no text contains are ignored."""
        scores = [0.0] * self._count
        for word in words:
            weights = self._weights.get(word, {})
            rarity = log(1 + (self._count - len(weights) + 0.5) / (len(weights) + 0.5))
            for position, weight in weights.items():
                scores[position] += rarity * weight
        return scores
