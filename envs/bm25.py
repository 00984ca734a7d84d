"""BM25, in Lucene's variant: how well texts fit the words of a query (Robertson and Zaragoza, 2009)."""

from collections import Counter
from collections.abc import Collection, Sequence
from math import log

SATURATION, LENGTH = 1.5, 0.75
"""``k1`` and ``b``: how soon repetitions of a word stop to count, and how much long texts are held back."""


class BM25:
    """An index of texts, each given as its words."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._count, total = len(texts), sum(map(len, texts))
        self._found: dict[str, dict[int, float]] = {}
        for position, text in enumerate(texts):
            norm = SATURATION * (1 - LENGTH + LENGTH * len(text) * self._count / max(total, 1))
            for word, count in Counter(text).items():
                self._found.setdefault(word, {})[position] = count / (count + norm)

    def scores(self, words: Collection[str]) -> list[float]:
        """Return the score of each text, in their order; words that no text has count for nothing."""
        scores = [0.0] * self._count
        for word in words:
            found = self._found.get(word, {})
            rarity = log(1 + (self._count - len(found) + 0.5) / (len(found) + 0.5))
            for position, weight in found.items():
                scores[position] += rarity * weight
        return scores
