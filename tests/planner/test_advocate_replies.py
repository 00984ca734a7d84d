"""Replies to the questions of Devil's Advocate: read strictly, told what is missing."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.planner.strategies.advocate.model_calls import (
    MAX_PARTS,
    read_alignment,
    read_answer,
    read_other,
    read_outline,
    read_value,
    read_verdict,
)


@pytest.mark.parametrize(
    ("text", "review", "parts"),
    [
        ("1. look", "", ("look",)),
        ("It went wrong.\n\nPlan:\n1. look\n2) bring **it**", "It went wrong.\n\nPlan:", ("look", "bring **it")),
        ("1. look\n\n2: bring it\n\nGood luck.", "", ("look", "bring it")),
        ("So far:\n1. this\n2. that\nNow:\n1. look", "So far:\n1. this\n2. that\nNow:", ("look",)),
        ("1. look\n   behind it\n2. go", "", ("look behind it", "go")),
        ("- **1.** look\n- **2.** go", "", ("look", "go")),
    ],
)
def test_a_plan_is_the_last_numbered_list(text: str, review: str, parts: tuple[str, ...]) -> None:
    assert read_outline(text) == (review, parts)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I would look.", "the plan is missing"),
        ("", "the plan is missing"),
        ("1. look\n3. go", "goes from 1 to 3"),
        ("\n".join(f"{n}. go" for n in range(1, MAX_PARTS + 2)), f"more than {MAX_PARTS}"),
    ],
)
def test_what_is_no_plan_is_said(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_outline(text)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Verdict: YES", True),
        ("I see.\n**Verdict:** no.", False),
        ("> verdict: Yes!", True),
        ("Yes and no.\nVerdict: NO\nThat is all.", False),
    ],
)
def test_a_verdict_is_one_word(text: str, verdict: bool) -> None:
    assert read_verdict(text) is verdict


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("YES", "'Verdict: ...' is missing"),
        ("Verdict: perhaps", "the verdict is 'perhaps'"),
        ("Verdict: YES, but not yet", "the verdict is 'YES, but not yet'"),
        ("Verdict: YES\nVerdict: NO", "is there 2 times"),
        ("Verdict:", "is empty"),
    ],
)
def test_what_is_no_verdict_is_said(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_verdict(text)


def test_an_alignment_says_what_was_done_and_why() -> None:
    said = "Did: Opened box_2: it holds a key.\nWhy: The key is wanted.\nVerdict: YES"
    assert read_alignment(said) == ("Opened box_2: it holds a key.", "The key is wanted.", 1.0)
    with pytest.raises(ValueError, match=r"'Did: \.\.\.' is missing"):
        read_alignment("Why: so.\nVerdict: YES")


@pytest.mark.parametrize(("said", "value"), [("0", 0.0), ("7", 0.7), ("10/10", 1.0), ("**3**.", 0.3)])
def test_a_value_is_a_whole_number_from_0_to_10(said: str, value: float) -> None:
    assert read_value(f"Did: that\nWhy: so\nValue: {said}").value == value


@pytest.mark.parametrize("said", ["11", "-1", "7.5", "high", "³"])
def test_any_other_value_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="a whole number from 0 to 10"):
        read_value(f"Did: that\nWhy: so\nValue: {said}")


def test_an_answer_is_all_that_follows() -> None:
    assert read_answer("So it is.\n**Answer:** red,\ngreen") == "red,\ngreen"
    for text in ("It is red.", "Answer:  "):
        with pytest.raises(ValueError, match=r"behind 'Answer: '|begin it with 'Answer: '"):
            read_answer(text)


def test_nothing_else_is_said_by_one_word() -> None:
    assert read_other("**None.**\n") is None
    found = read_other("```python\nagent.stop()\n```")
    assert found is not None
    assert found.code.strip() == "agent.stop()"
    with pytest.raises(ValueError):
        read_other("None of that.")


@given(st.text())
def test_whatever_is_said_is_read_or_refused(text: str) -> None:
    readers: list[Callable[[str], object]] = [
        read_outline,
        read_verdict,
        read_alignment,
        read_value,
        read_answer,
        read_other,
    ]
    refused = [_problem(read, text) for read in readers]
    assert "" not in refused


def _problem(read: Callable[[str], object], text: str) -> str | None:
    try:
        read(text)
    except ValueError as error:
        return str(error)
    return None
