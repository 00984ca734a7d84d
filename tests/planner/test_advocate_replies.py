"""How the replies to the questions of Devil's Advocate are read."""

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from planbook.planner.strategies.advocate.model_calls import (
    MAX_PARTS,
    read_alignment,
    read_alternative,
    read_answer,
    read_outline,
    read_value,
    read_verdict,
)

Reader = Callable[[str], object]
READERS: list[Reader] = [read_outline, read_verdict, read_alignment, read_value, read_answer, read_alternative]


@pytest.mark.parametrize(
    ("text", "review", "parts"),
    [
        ("It went wrong.\n\nPlan:\n1. look\n2) bring **it**", "It went wrong.\n\nPlan:", ("look", "bring **it")),
        ("1. look\n\n2: bring it\n\nGood luck.", "", ("look", "bring it")),
        ("So far:\n1. this\n2. that\nNow:\n1. look", "So far:\n1. this\n2. that\nNow:", ("look",)),
        ("1. look\n   behind it\n2. go", "", ("look behind it", "go")),
        ("- **1.** look\n- **2.** go", "", ("look", "go")),
        ("1. look\n   1. left\n\n\t2. right\n2. go\n10 minutes", "", ("look 1. left 2. right", "go")),
        ("1. look\n   2. go\n   3. come", "", ("look", "go", "come")),
        ("1. old\n\nNow:\n   1. look\n    behind it\n   2. go", "1. old\n\nNow:", ("look behind it", "go")),
    ],
)
def test_the_last_numbered_list_is_the_plan(text: str, review: str, parts: tuple[str, ...]) -> None:
    assert read_outline(text) == (review, parts)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("I see.\n**Verdict:** no.", False),
        ("> verdict: Yes!", True),
        ("Yes and no.\nVerdict: NO\nThat is all.", False),
    ],
)
def test_a_verdict_is_one_word(text: str, verdict: bool) -> None:
    assert read_verdict(text) is verdict


def test_an_alignment_has_an_effect_and_a_reason() -> None:
    text = "Did: Opened box_2: it holds a key.\nWhy: The key is wanted.\nVerdict: YES"
    assert read_alignment(text) == ("Opened box_2: it holds a key.", "The key is wanted.", 1.0)


@pytest.mark.parametrize(("written", "value"), [("0", 0.0), ("10/10", 1.0), ("**3**.", 0.3)])
def test_a_value_is_a_whole_number_from_0_to_10(written: str, value: float) -> None:
    assert read_value(f"Did: that\nWhy: so\nValue: {written}").value == value


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So it is.\n**Answer:** red,\ngreen", "red,\ngreen"),
        ("* Answer: **red**\n", "red"),
        ("> **Answer: red**", "red"),
        ("**Answer**: **red** or **green**", "**red** or **green**"),
        ("Answer: __init__", "__init__"),
        ("Answer: *args", "*args"),
        ("Answer: `x`", "x"),
    ],
)
def test_an_answer_is_all_text_after_its_label(text: str, answer: str) -> None:
    assert read_answer(text) == answer


def test_an_alternative_is_code_or_the_word_none() -> None:
    assert read_alternative("**None.**\n") is None
    found = read_alternative("```python\nagent.stop()\n```")
    assert found is not None
    assert found.code.strip() == "agent.stop()"


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (read_outline, "I would look.", "the plan is missing"),
        (read_outline, "1. look\n3. go", "jumps from 1 to 3"),
        (
            read_outline,
            "1. **Review:** It was too cold.\n2. **Plan:**\n   1. Find\n   2. Heat it",
            "write one flat list",
        ),
        (
            read_outline,
            "**1. Review**\nCold.\n**2. Plan**\n   1. Find\n      it\n\n   2. Heat it\nGood luck.",
            "the last subtask, 2,",
        ),
        (read_outline, "\n".join(f"{n}. go" for n in range(1, MAX_PARTS + 2)), f"more than {MAX_PARTS}"),
        (read_verdict, "YES", "'Verdict: ...' is missing"),
        (read_verdict, "Verdict: YES, but not yet", "the verdict is 'YES, but not yet'"),
        (read_verdict, "Verdict: YES\nVerdict: NO", "appears 2 times"),
        (read_verdict, "Verdict:", "is empty"),
        (read_alignment, "Why: so.\nVerdict: YES", r"'Did: \.\.\.' is missing"),
        *((read_value, f"Did: it\nWhy: so\nValue: {n}", "from 0 to 10") for n in ("11", "-1", "7.5", "high", "³")),
        (read_answer, "It is red.", "begin it with 'Answer: '"),
        (read_answer, "Answer:  ", "after 'Answer: '"),
        (read_alternative, "None of that.", "code"),
    ],
)
def test_other_replies_are_refused_with_a_reason(read: Reader, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read(text)


@given(st.text())
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    for read in READERS:
        try:
            read(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017
