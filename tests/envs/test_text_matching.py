"""BM25 against the package bm25s."""

from typing import Any

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as some
from thefuzz import fuzz

from planbook.envs.text_matching import BM25, token_set_ratio

WORDS = some.sampled_from("apple box cup desk egg fork".split())
TEXTS = some.lists(some.lists(WORDS, max_size=8), min_size=1, max_size=8).filter(any)


@given(TEXTS, some.sets(WORDS, min_size=1))
def test_scores_are_those_of_the_package(texts: list[list[str]], asked: set[str]) -> None:
    known = sorted(asked & {word for text in texts for word in text})
    theirs: Any = bm25s.BM25()
    theirs.index(texts, show_progress=False)
    expected = theirs.get_scores(known).tolist() if known else [0.0] * len(texts)
    assert BM25(texts).scores(sorted(asked)) == pytest.approx(expected, abs=1e-5)


def test_no_texts_have_no_scores() -> None:
    assert BM25([]).scores(["apple"]) == []
    assert BM25([[], []]).scores(["apple"]) == [0.0, 0.0]


LETTERS = some.one_of(
    some.sampled_from("ab ,B1é"),
    some.characters(max_codepoint=0x2FF, exclude_categories=["Cs"], exclude_characters="İ"),
)
"""Letters that are newer than those the package knows are read otherwise."""
SENTENCES = some.one_of(some.text(LETTERS), some.lists(WORDS, max_size=6).map(" ".join))


@given(SENTENCES, SENTENCES)
def test_likeness_is_that_of_the_package(one: str, other: str) -> None:
    assert token_set_ratio(one, other) == fuzz.token_set_ratio(one, other)
