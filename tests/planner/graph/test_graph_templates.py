"""Templates and expressions in graph files: the language that is allowed, its limits, and the messages for mistakes."""

import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.planner.errors import GraphError
from planbook.planner.graph.templating import Expression, Template
from planbook.planner.types import digest_of

DB: dict[str, Any] = {
    "plan": {"goal": "home", "items": "three", "steps": ["a", {"b": None}]},
    "number": 3,
    "evil": "{{ db.secret }} $db.secret$",
    "secret": "SECRET",
    "rows": [{"name": "x", "open": "yes"}, {"name": "y", "open": "no"}],
    "many": list(range(60_000)),
    "long": "x" * 600_000,
    "deep": {"one": [{"k": number} for number in range(20_000)]},
}


def rendered(text: str, **values: Any) -> str:
    return Template.of(text).render({"db": DB, **values})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ db.plan.items }} {{ db.plan['steps'].0 }} {{ db.plan.steps[-1].b }}", "three a null"),
        ("{{ db.plan.steps }}", '[\n "a",\n {\n  "b": null\n }\n]'),
        ("{{ db.none.of.it | default('nothing yet') }}", "nothing yet"),
        ("{{ db.evil }} {{ answer_of }}", "{{ db.secret }} $db.secret$ {{ db.evil }}"),
        ("{% for row in db.rows if row.open == 'yes' %}\n{{ loop.index }}. {{ row.name }}\n{% endfor %}", "1. x"),
        ("{% if db.plan.why is defined %}{{ db.plan.why }}{% else %}no reason{% endif %}", "no reason"),
        ("{{ db.rows | selectattr('open', 'eq', 'no') | map(attribute='name') | join(', ') }}", "y"),
        ("{{ db.plan.goal | replace(old='o', new='a') }}", "hame"),
        ("{{ db.number + 1 }} {{ 'odd' if db.number % 2 else 'even' }}", "4 odd"),
    ],
)
def test_a_template_is_rendered(text: str, expected: str) -> None:
    assert rendered(text, answer_of="{{ db.evil }}") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ db.plan.gaol }}", 'db.plan.gaol has no value; did you mean "goal"?'),
        ("{{ dbb.plan }}", "dbb.plan has no value"),
        ("{% for each in db.plan.nothing %}{% endfor %}", "db.plan.nothing has no value"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% for a in db.many %}{% for b in db.many %}{% endfor %}{% endfor %}", "more than 100,000 items"),
        ("{{ db.many | sort | reverse | list }}", "more than 100,000 items"),
        ("{% for a in db.many %}{% if db.long | upper is lower %}{% endif %}{% endfor %}", "more than 100,000 items"),
        ("{% for a in db.many %}{% if 'y' in db.long %}{% endif %}{% endfor %}", "more than 100,000 items"),
        ("{{ db.long }}{{ db.long }}", "more than 1,000,000 characters"),
        ("{{ db.long | replace('x', db.long) }}", "more than 1,000,000 characters"),
        ("{{ ['a', 'b', 'c'] | join(db.long) }}", "more than 1,000,000 characters"),
        ("{{ db.long | replace('x', new=db.long) }}", "more than 1,000,000 characters"),
        ("{% for a in db.many %}{% if a in db.many %}{% endif %}{% endfor %}", "more than 100,000 items"),
        ("{% for a in db.many %}{% if db.rows == db.deep %}{% endif %}{% endfor %}", "more than 100,000 items"),
        ("{{ 999999999999999 * 999999999999999 * 9 }}", "only up to"),
        ("{{ db.long % 3 }}", "% works only on numbers"),
    ],
)
def test_a_failing_template_explains_why_within_two_seconds(text: str, message: str) -> None:
    start = time.process_time()
    with pytest.raises(GraphError) as refused:
        rendered(text)
    assert message in str(refused.value)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ db.plan", "the template: unexpected end"),
        ("a\n{% if db %}", "the template, line 2: Unexpected end of template"),
        ("{{ db.plan.goal.upper() }}", "functions cannot be called; use a filter"),
        ("{% set a = 1 %}", "set is not allowed; to keep a value, use a node's `store`"),
        ("{{ db.plan ~ 'x' }}", "~ is not allowed; write {{ a }}{{ b }}"),
        ("{{ 10 ** 10 }}", "** is not allowed"),
        ("{{ 'x' * 1000000 }}", "* works only on numbers; to build text or a list, use"),
        ("{{ [1] * 1000000 }}", "* works only on numbers"),
        ("{% for a in db %}" * 25 + "{% endfor %}" * 25, "the template: loops are nested too deeply"),
        ("{% include 'other' %}", "include is not allowed"),
        ("{% for a in db recursive %}{% endfor %}", "a loop cannot be recursive"),
        ("{{ db.plan | uper }}", 'there is no filter uper; did you mean "upper"?'),
        ("{{ db.plan | attr('x') }}", "there is no filter attr"),
        ("{{ db.plan is sameas db }}", "there is no test sameas"),
        ("{{ 1 }}" * 6_000, "more than 5,000 elements"),
        ("{{ " + "(" * 5_000, "this is nested too deeply"),
    ],
)  # fmt: skip
def test_forbidden_syntax_is_refused_when_a_template_is_read(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        Template.of(text)
    assert message in str(refused.value)


def test_no_python_attribute_can_be_reached() -> None:
    for attribute in ("__class__", "__init__", "_values", "keys", "format", "append"):
        for value in ("db", "db.plan.goal", "db.rows", "db.number", "loop"):
            text = f"{{% for a in [1] %}}{{{{ {value}.{attribute} }}}}{{% endfor %}}"
            with pytest.raises(GraphError):
                rendered(text)


def test_the_digest_of_a_text_depends_on_the_values_that_it_looked_up() -> None:
    text = "{{ db.plan.goal }} {{ db.none | default('words') }} {{ item }} {{ db.number }}"
    rendered_text = Template.of(text).render({"db": DB, "item": "I"})
    assert rendered_text.data_digest == digest_of([{"goal": "home"}, {"": "I"}, {"number": 3}])
    other_words = Template.of(f"So: {text.replace('words', 'other words')}").render({"db": DB, "item": "I"})
    assert other_words.data_digest == rendered_text.data_digest
    assert Template.of("{{ db.plan.items }}").render({"db": DB}).data_digest != rendered_text.data_digest


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('look == "yes"', True),
        ('look == "no" or db.number >= 3', True),
        ('look == "yes" and not db.rows', False),
        ("db.nothing is defined", False),
        ("db.nothing | default(0) >= 1", False),
        ("db.rows | length > 1", True),
    ],
)
def test_a_condition_holds_or_not(text: str, holds: bool) -> None:
    assert Expression.of(text).holds({"db": DB, "look": "yes"}) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("look ==", "unexpected 'end of template'"),
        ("a }} {{ b", "there is text after the end of the expression"),
        ("f(x)", "functions cannot be called"),
        ("not " * 5_000 + "a", "nested too deeply"),
        (" + ".join("1" * 3_000), "nested too deeply"),
    ],
)
def test_an_invalid_expression_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        Expression.of(text)
    assert message in str(refused.value)


def test_a_condition_on_a_missing_value_is_an_error() -> None:
    for text in ("db.nothing", "db.nothing == 1", "not db.nothing", "nobody.field"):
        with pytest.raises(GraphError, match=r"no such value|has no value"):
            Expression.of(text).holds({"db": DB})


@given(st.text(st.sampled_from("{}%#- dbxy.|()[]'\"~*+<\n"), max_size=40))
def test_any_text_is_a_template_or_a_known_error(text: str) -> None:
    with suppress(ValueError, GraphError):
        assert Template.of(text).render({"db": {"x": 1, "y": ["d"]}}).data_digest
