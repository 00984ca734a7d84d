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
    ("read", "text", "found"),
    [
        (read_verdict, "I see.\n**Verdict:** no.", False),
        (read_verdict, "> verdict: Yes!", True),
        (read_verdict, "Yes and no.\nVerdict: NO\nThat is all.", False),
        (
            read_alignment,
            "Did: Opened box_2: it holds a key.\nWhy: The key is wanted.\nVerdict: YES",
            ("Opened box_2: it holds a key.", "The key is wanted.", 1.0),
        ),
        (read_value, "Did: that\nWhy: so\nValue: 0", ("that", "so", 0.0)),
        (read_value, "Did: that\nWhy: so\nValue: 10/10", ("that", "so", 1.0)),
        (read_value, "Did: that\nWhy: so\nValue: **3**.", ("that", "so", 0.3)),
        (read_answer, "So it is.\n**Answer:** red,\ngreen", "red,\ngreen"),
        (read_answer, "* Answer: **red**\n", "red"),
        (read_answer, "> **Answer: red**", "red"),
        (read_answer, "**Answer**: **red** or **green**", "**red** or **green**"),
        (read_answer, "Answer: __init__", "__init__"),
        (read_answer, "Answer: *args", "*args"),
        (read_answer, "Answer: `x`", "x"),
        (read_alternative, "**None.**\n", None),
    ],
)
def test_a_labelled_reply_is_read(read: Reader, text: str, found: object) -> None:
    assert read(text) == found


def test_an_alternative_is_code() -> None:
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
