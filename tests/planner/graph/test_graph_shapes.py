"""The forms of answers, and how answers are read."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from planbook.planner.graph.shapes import shape_of
from tests.sandbox.fuzz.size import SECONDS, seconds_of


@pytest.mark.parametrize(
    ("written", "reply", "value"),
    [
        ("text", "  So it is.\n", "So it is."),
        ("yes/no", "Yes, because no harm is done.", "yes"),
        ("yes/no", "**No**\nIt would not help.", "no"),
        ("number", "-3.5 or so", -3.5),
        ("whole", "`12`", 12),
        ("one of: go, go on, stop", "Go on: the road is free.", "go on"),
        ("one of: no, not sure", "Not sure", "not sure"),
        ("one of: >50, #2", "#2, I think", "#2"),
        ("one of: >50, <50", "**<50**", "<50"),
        ("code", "So.\n```python\nx = 1\n```", "x = 1"),
        ("any", "[1, {}]", [1, {}]),
        (["whole"], "They are [1, 2] I think", [1, 2]),
        ({"a": "text", "b?": "number"}, 'In {a}:\n{"a": "x"}', {"a": "x"}),
        ({"a": "text"}, '{"a": "draft"} then ```json\nno\n```\n```json\n{"a": "final"}\n```', {"a": "final"}),
        ({"a": "yes/no", "b": "yes/no"}, '{"a": true, "b": "No, it is not"}', {"a": "yes", "b": "no"}),
        ({"*": ["whole"]}, '{"x": [1], "y": []}', {"x": [1], "y": []}),
        (["text"], '```python\nx = [0]\n```\nThe answer, as in [1]:\n```json\n["a"]\n```\n(See [2].)', ["a"]),
        (["text"], '```\n```\n```json\n["a"]\n```\n(See [2].)', ["a"]),
    ],
)
def test_an_answer_that_fits_is_read(written: Any, reply: str, value: Any) -> None:
    assert shape_of(written).read(reply) == value


@pytest.mark.parametrize(
    ("written", "reply", "message"),
    [
        ("text", " \n", "empty"),
        ("yes/no", "Yesterday it rained", "must begin with the word yes or no"),
        ("number", "1,000", "must begin with a number"),
        ("whole", "2.5", "must begin with a whole number"),
        ("one of: go, stop", "gone", "must begin with one of: go, stop"),
        ("code", "There is nothing to do.", "code"),
        ({"a": "text"}, "N/A", r"no JSON in the reply that can be read as an object in braces, \{...\}$"),
        ({"a": "text"}, '{"a": "x", "a": "y"}', "the key 'a' appears twice"),
        ({"a": "number"}, '{"a": NaN}', "NaN is not a JSON number"),
        ({"a": "number"}, '{"a": "3"}', "a: this must be a number"),
        ({"a": "whole"}, '{"a": true}', "a: this must be a whole number"),
        ({"a": "text"}, '{"a": "\\ud800"}', "surrogate"),
        (["text"], "[" * 100_000, "nested too deeply"),
        (["text"], '["a"', "delimiter at the end of the text"),
        ("any", '{"goal": "x", "steps": ["a", "b"], "why": "because', r"Unterminated string starting at '\"because'"),
        ({"b": "any"}, '{"a": {"b": 1}, "c": ', "no JSON"),
        ({"why": "any"}, '{"goal": "x", "goal": {"why": "z"}}', "the key 'goal' appears twice"),
        ({"b": "any"}, '{"a": {"b": 1}, "c": NaN}', "NaN is not a JSON number"),
        ("any", "1 2", "there is no JSON in the reply that can be read as a value$"),
        ({"a": "text"}, 'In {a}: {"a": "x"}', r"property name enclosed in double quotes at 'a}: "),
        (
            {"a": {"b": [{"c": "any"}]}},
            '{"a": {"b": [{"c": null}, {"c": {"d": 1}}]}}',
            r"a\.b\.0\.c: Field required",
        ),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_the_reason(written: Any, reply: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shape_of(written).read(reply)


def test_the_reason_lists_all_faults_of_an_answer() -> None:
    shape = shape_of({"a": "text", "b": {"c": "yes/no", "d": "one of: x, y"}, "e": ["number"], "g": ["text"]})
    with pytest.raises(ValueError) as error:
        shape.read('{"b": {"c": "perhaps", "d": ""}, "e": {}, "f": 1, "g": ["x", 1]}')
    reason = str(error.value)
    parts = (
        "a: Field required|b.c: the answer must begin with the word yes or no|b.d: this must be one of: x, y|"
        "e: Input should be a valid list|f: Extra inputs are not permitted|g.1: this must be text"
    )
    for part in parts.split("|"):
        assert part in reason


@pytest.mark.parametrize(
    "written",
    ["txt", "one of:", "one of: a", "one of: a, A", [], ["text", "text"], {}, {"*": "text", "a": "text"}, 3, None,
     {"a": "code"}, {1: "text"}],
)  # fmt: skip
def test_an_unknown_form_is_refused_with_the_known_ones(written: Any) -> None:
    with pytest.raises(ValueError, match=r"[Ww]rite|needs|no fields|names|combined|separate node|one shape"):
        shape_of(written)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(values, st.sampled_from(["", "I think: ", "See {this}.\n\n", "It is [sic] so.\n"]), st.booleans())
def test_json_is_read_unchanged_whatever_surrounds_it(value: Any, before: str, fenced: bool) -> None:
    wrapped = {"value": value}
    written = json.dumps(wrapped, indent=1)
    reply = f"{before}```json\n{written}\n```" if fenced else f"{before}{written}"
    assert shape_of("any" if not before else {"value?": "any"}).read(reply) == (
        wrapped if not before or value is not None else {}
    )


@given(st.text())
def test_any_text_is_an_answer_or_a_value_error(text: str) -> None:
    for written in ("text", "yes/no", "number", "whole", "one of: a, b", "any", "code", ["text"], {"a": "text"}):
        with suppress(ValueError):
            assert json.dumps(shape_of(written).read(text))


@pytest.mark.parametrize(
    "reply",
    [
        "```json\nx\n" * 10_000,
        "[" * 900 + '{"' + "x" * 99_000 + '" b',
        "```" + " " * 100_000,
        "\n".join("`" * length for length in range(3, 440)),
        "{" + ",".join(f'"{key}":0' for key in range(11_000)) + "}",
    ],
)
def test_a_long_answer_is_read_within_a_second(reply: str) -> None:
    def read() -> None:
        with suppress(ValueError):
            shape_of({"a": "any"}).read(reply)

    assert seconds_of(read) < SECONDS or seconds_of(read) < SECONDS, "it was too slow twice"
