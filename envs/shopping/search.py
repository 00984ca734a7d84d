"""The shop's search: BM25 over title, description, first bullet and options, as WebShop indexes its products.

WebShop has Lucene do this; here the folding of words is simpler (small letters, a plural's s).
"""

import re
from collections.abc import Sequence

from planbook.envs.bm25 import BM25
from planbook.envs.shopping.wares import Product

MOST = 50
"""How many results a search has at most."""
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_STOP = frozenset("a an and are as at be but by for if in into is it no not of on or such that the their then".split())
_DIGITS = 6
"""Scores that agree in so many places are a tie, which the order of the products decides."""


def words(text: str) -> list[str]:
    """What is compared of a text."""
    found = (word for word in _WORD.findall(text.lower()) if word not in _STOP)
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]


def indexed_text(product: Product) -> str:
    """What a product is found by."""
    options = ", ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    return " ".join([product.title, product.description, *product.bullets[:1], options])


class Search:
    """An index of products, made once."""

    def __init__(self, products: Sequence[Product]) -> None:
        self._ids = [product.id for product in products]
        self._index = BM25([words(indexed_text(product)) for product in products])

    def results(self, keywords: str) -> tuple[str, ...]:
        """The ids of the products that fit best, the best first; those that share no word are left out."""
        scores = [round(score, _DIGITS) for score in self._index.scores(sorted(set(words(keywords))))]
        order = sorted(range(len(scores)), key=lambda position: -scores[position])[:MOST]
        return tuple(self._ids[position] for position in order if scores[position] > 0)
