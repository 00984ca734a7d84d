"""BM25 and token_set_ratio are compared with the packages bm25s and thefuzz."""

from typing import Any

import bm25s
import pytest
from hypothesis import given, strategies as st
from thefuzz import fuzz

from planbook.envs.text_matching import BM25, token_set_ratio

WORDS = st.sampled_from("apple box cup desk egg fork".split())
TEXTS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=8).filter(any)


@given(TEXTS, st.sets(WORDS, min_size=1))
def test_scores_are_those_of_bm25s(texts: list[list[str]], asked: set[str]) -> None:
    known = sorted(asked & {word for text in texts for word in text})
    reference: Any = bm25s.BM25()
    reference.index(texts, show_progress=False)
    expected = reference.get_scores(known).tolist() if known else [0.0] * len(texts)
    assert BM25(texts).scores(sorted(asked)) == pytest.approx(expected, abs=1e-5)


def test_empty_texts_score_zero() -> None:
    assert BM25([]).scores(["apple"]) == []
    assert BM25([[], []]).scores(["apple"]) == [0.0, 0.0]


LETTERS = st.one_of(
    st.sampled_from("ab ,B1é"),
    st.characters(max_codepoint=0x2FF, exclude_categories=["Cs"], exclude_characters="İ"),
)
"""Characters, without the more recent ones in Unicode, which thefuzz treats differently."""
SENTENCES = st.one_of(st.text(LETTERS), st.lists(WORDS, max_size=6).map(" ".join))


@given(SENTENCES, SENTENCES)
def test_the_ratio_is_that_of_thefuzz(one: str, other: str) -> None:
    assert token_set_ratio(one, other) == fuzz.token_set_ratio(one, other)
