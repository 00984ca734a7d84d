"""Measure the similarity of texts by comparing their words: the token set ratio for two texts, BM25 to search many."""

from collections import Counter
from collections.abc import Collection, Sequence
from math import log


def token_set_ratio(first: str, second: str) -> int:
    """Return the similarity of two texts' sets of words, from 0 to 100, as in the package thefuzz.

    The result is the best score of three comparisons: the shared words with all words of ``first``, the shared words
    with all words of ``second``, and all words of ``first`` with all words of ``second``.
    """
    first_words, second_words = set(_words(first)), set(_words(second))
    if not first_words or not second_words:
        return 0
    shared = first_words & second_words
    only_first, only_second = first_words - second_words, second_words - first_words
    if shared and not (only_first and only_second):
        return 100
    left, right = " ".join(sorted(only_first)), " ".join(sorted(only_second))
    common = len(" ".join(shared))
    space = 1 if common else 0
    first_length, second_length = common + space + len(left), common + space + len(right)
    best = _ratio(len(left) + len(right) - 2 * _common_length(left, right), first_length + second_length)
    if shared:
        best = max(best, _ratio(space + len(left), common + first_length))
        best = max(best, _ratio(space + len(right), common + second_length))
    return round(best)


def _ratio(distance: int, length: int) -> float:
    """Return the similarity, from 0 to 100, of two strings, given their distance and the sum of their lengths."""
    return 100 - 100 * distance / length if length else 100.0


def _common_length(first: str, second: str) -> int:
    """Return the length of the longest common subsequence, using the bit-parallel algorithm of Hyyrö (2004)."""
    positions = dict.fromkeys(first, 0)
    for position, character in enumerate(first):
        positions[character] |= 1 << position
    mask = (1 << len(first)) - 1
    row = mask
    for character in second:
        matched = row & positions.get(character, 0)
        row = ((row + matched) | (row - matched)) & mask
    return len(first) - row.bit_count()


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case. Like thefuzz, remove the characters with the codes 128 to 255."""
    return "".join(char if char.isalnum() else " " for char in text.translate(_REMOVED_CHARACTERS).lower()).split()


_REMOVED_CHARACTERS = dict.fromkeys(range(128, 256))
SATURATION, LENGTH_PENALTY = 1.5, 0.75
"""The parameters ``k1`` and ``b`` of BM25. They set how much repeating a word adds, and how much a long text loses."""


class BM25:
    """An index that scores how well each text matches a query (Okapi BM25). A text is a sequence of words."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._count, total = len(texts), sum(map(len, texts))
        self._weights: dict[str, dict[int, float]] = {}
        for position, text in enumerate(texts):
            norm = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * len(text) * self._count / max(total, 1))
            for word, count in Counter(text).items():
                self._weights.setdefault(word, {})[position] = count / (count + norm)

    def scores(self, words: Collection[str]) -> list[float]:
        """Return the score of each text for the words of a query, in the order of the texts."""
        scores = [0.0] * self._count
        for word in words:
            weights = self._weights.get(word, {})
            rarity = log(1 + (self._count - len(weights) + 0.5) / (len(weights) + 0.5))
            for position, weight in weights.items():
                scores[position] += rarity * weight
        return scores
