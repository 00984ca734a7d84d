"""Manuals are shortened to a token limit."""

from bisect import bisect

import pytest
from hypothesis import given, strategies as st

from planbook.manuals.errors import TooLong
from planbook.manuals.formulator import LEAST_IMPORTANT_FIRST, shorten
from planbook.manuals.markdown import LEFT_OUT, Manual, Section, render
from planbook.planner.models.types import estimate_tokens
from planbook.rules import Rule, RuleType

RULES = [
    Rule(id=f"rule_{number}", type=kind, content=f"For {kind} tasks, do it.", example=f"step({number})\n" * 20)
    for number, kind in enumerate(RuleType)
]
MANUAL = Manual(
    title="All types",
    sections=(Section(title="All", introduction="Key points: many. " * 9, rule_ids=tuple(rule.id for rule in RULES)),),
)
WHOLE = render(MANUAL, RULES)


def kept_types(text: str) -> set[RuleType | None]:
    """Return the types whose example is kept."""
    return {rule.type for rule in RULES if rule.example in text}


def test_every_type_has_a_priority() -> None:
    assert set(LEAST_IMPORTANT_FIRST) == {None, *RuleType}


@pytest.mark.parametrize("tokens", [None, estimate_tokens(WHOLE)])
def test_a_manual_within_the_limit_is_unchanged(tokens: int | None) -> None:
    assert shorten(MANUAL, RULES, tokens) == WHOLE


@given(st.integers(1, estimate_tokens(WHOLE)))
def test_the_least_important_examples_are_left_out_first(tokens: int) -> None:
    if not fits(tokens):
        with pytest.raises(TooLong, match=f"{tokens} are allowed"):
            shorten(MANUAL, RULES, tokens)
        return
    text = shorten(MANUAL, RULES, tokens)
    assert estimate_tokens(text) <= tokens
    assert all(rule.content in text for rule in RULES)
    kept = [kind in kept_types(text) for kind in LEAST_IMPORTANT_FIRST if kind]
    assert kept == sorted(kept)
    assert text.count(LEFT_OUT) == kept.count(False) + (MANUAL.sections[0].introduction not in text)


def test_introductions_are_left_out_last() -> None:
    shortest = bisect(range(1, 2000), False, key=fits) + 1
    text = shorten(MANUAL, RULES, shortest)
    assert f"## All\n\n{LEFT_OUT}\n" in text
    assert not kept_types(text)
    assert MANUAL.sections[0].introduction in shorten(MANUAL, RULES, shortest + 60)


def fits(tokens: int) -> bool:
    try:
        shorten(MANUAL, RULES, tokens)
    except TooLong:
        return False
    return True


def test_the_least_cited_example_of_a_type_is_left_out_first() -> None:
    rules = [rule.model_copy(update={"type": RuleType.CORRECTED_ERROR}) for rule in RULES]
    text = shorten(MANUAL, rules, estimate_tokens(WHOLE) - 20, {rule.id: 3 for rule in rules if rule.id != "rule_4"})
    assert [rule.id for rule in rules if rule.example not in text] == ["rule_4"]
