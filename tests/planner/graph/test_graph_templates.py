"""Templates and expressions of graph files: what they may do, what they cost, and what they say of mistakes."""

import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.planner.errors import GraphError
from planbook.planner.graph.templating import Expression, Template
from planbook.planner.rendered import digest_of

DB: dict[str, Any] = {
    "plan": {"goal": "home", "items": "three", "steps": ["a", {"b": None}]},
    "number": 3,
    "evil": "{{ db.secret }} $db.secret$",
    "secret": "SECRET",
    "rows": [{"name": "x", "open": "yes"}, {"name": "y", "open": "no"}],
    "many": list(range(60_000)),
    "long": "x" * 600_000,
}


def rendered(text: str, **values: Any) -> str:
    return Template.of(text).render({"db": DB, **values})


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Go {{ db.plan.goal }}.", "Go home."),
        ("{{ db.plan.items }} {{ db.plan['steps'].0 }} {{ db.plan.steps[-1].b }}", "three a null"),
        ("{{ db.plan.steps }}", '[\n "a",\n {\n  "b": null\n }\n]'),
        ("{{ db.none.of.it | default('nothing yet') }}", "nothing yet"),
        ("{{ db.evil }} {{ answer_of }}", "{{ db.secret }} $db.secret$ {{ db.evil }}"),
        ("{{ '{{ db.plan }}' }} costs $5 and $db.plan$", "{{ db.plan }} costs $5 and $db.plan$"),
        ("{% for row in db.rows if row.open == 'yes' %}\n{{ loop.index }}. {{ row.name }}\n{% endfor %}", "1. x"),
        ("{% if db.plan.why is defined %}{{ db.plan.why }}{% else %}no reason{% endif %}", "no reason"),
        ("{{ db.rows | selectattr('open', 'eq', 'no') | map(attribute='name') | join(', ') }}", "y"),
        ("{{ db.number + 1 }} {{ 'odd' if db.number % 2 else 'even' }}", "4 odd"),
        ("{# a comment #} {{ db.plan.goal | upper }}", "HOME"),
    ],
)
def test_a_template_is_rendered(text: str, made: str) -> None:
    assert rendered(text, answer_of="{{ db.evil }}") == made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ db.plan.gaol }}", 'db.plan.gaol has no value; did you mean "goal"?'),
        ("{{ dbb.plan }}", "dbb.plan has no value"),
        ("{{ db.plan.goal.__class__ }}", "db.plan.goal.__class__ has no value"),
        ("{% for each in db.plan.nothing %}{% endfor %}", "db.plan.nothing has no value"),
        ("{{ db.number + db.plan.goal }}", "+ takes numbers"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% for a in db.many %}{% for b in db.many %}{% endfor %}{% endfor %}", "more than 100,000 items"),
        ("{{ db.many | sort | reverse | list }}", "more than 100,000 items"),
        ("{% for a in db.many %}{% if db.long | upper is lower %}{% endif %}{% endfor %}", "more than 100,000 items"),
        ("{% for a in db.many %}{% if 'y' in db.long %}{% endif %}{% endfor %}", "more than 100,000 items"),
        ("{{ db.long }}{{ db.long }}", "more than 1,000,000 characters"),
        ("{{ db.long | replace('x', db.long) }}", "more than 1,000,000 characters"),
        ("{{ db.plan.steps | join(db.long * 2) }}", "* takes numbers"),
        ("{{ [db.long, db.long] | join }}", "more than 1,000,000 characters"),
        ("{{ ['a', 'b', 'c'] | join(db.long) }}", "more than 1,000,000 characters"),
        ("{{ 10 ** 10 }}", "** is not allowed"),
        ("{{ 999999999999999 * 999999999999999 * 9 }}", "numbers, of at most"),
        ("{{ '%1000000000d' % 3 }}", "% takes numbers"),
    ],
)
def test_what_cannot_be_rendered_says_why_and_costs_little(text: str, message: str) -> None:
    begun = time.process_time()
    with pytest.raises(GraphError) as refused:
        rendered(text)
    assert message in str(refused.value)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ db.plan", "the text: unexpected end"),
        ("a\n{% if db %}", "the text, line 2: Unexpected end of template"),
        ("{{ db.plan.goal.upper() }}", "functions cannot be called; use a filter"),
        ("{{ range(10) }}", "functions cannot be called"),
        ("{% set a = 1 %}", "set is not allowed; `store` of a node keeps values"),
        ("{{ db.plan ~ 'x' }}", "~ is not allowed; write {{ a }}{{ b }}"),
        ("{% include 'other' %}", "include is not allowed"),
        ("{% macro m() %}{% endmacro %}", "macro is not allowed"),
        ("{% for a in db recursive %}{% endfor %}", "a loop cannot be recursive"),
        ("{{ db.plan | uper }}", 'there is no filter uper; did you mean "upper"?'),
        ("{{ db.plan | attr('x') }}", "there is no filter attr"),
        ("{{ db.plan | center(1000000000) }}", "there is no filter center"),
        ("{{ db.plan is sameas db }}", "there is no test sameas"),
        ("{{ 1 }}" * 6_000, "more than 5,000 parts"),
        ("{{ " + "(" * 5_000, "this is nested too deeply"),
    ],
)  # fmt: skip
def test_what_a_template_may_not_do_is_told_when_it_is_read(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        Template.of(text)
    assert message in str(refused.value)


def test_no_object_of_python_can_be_reached() -> None:
    for way in ("__class__", "__init__", "_values", "keys", "format", "append"):
        for value in ("db", "db.plan.goal", "db.rows", "db.number", "loop"):
            text = f"{{% for a in [1] %}}{{{{ {value}.{way} }}}}{{% endfor %}}"
            with pytest.raises(GraphError):
                rendered(text)


def test_the_data_of_a_text_are_the_values_that_it_looked_up() -> None:
    text = "{{ db.plan.goal }} {{ db.none | default('words') }} {{ item }} {{ db.number }}"
    made = Template.of(text).render({"db": DB, "item": "I"})
    assert made.data_digest == digest_of([{"goal": "home"}, {"": "I"}, {"number": 3}])
    other_words = Template.of(f"So: {text.replace('words', 'other words')}").render({"db": DB, "item": "I"})
    assert other_words.data_digest == made.data_digest
    assert Template.of("{{ db.plan.items }}").render({"db": DB}).data_digest != made.data_digest


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('look == "yes"', True),
        ('look == "no" or db.number >= 3', True),
        ('look == "yes" and not db.rows', False),
        ("db.plan.goal in ['home', 'away']", True),
        ("db.nothing is defined", False),
        ("db.nothing | default(0) >= 1", False),
        ("db.rows | length > 1", True),
        ("db.number is divisibleby 2", False),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    assert Expression.of(text).holds({"db": DB, "look": "yes"}) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected 'end of template'"),
        ("look ==", "unexpected 'end of template'"),
        ("a }} {{ b", "something stands after its end"),
        ("look = 3", "something stands after its end"),
        ("f(x)", "functions cannot be called"),
        ("not " * 5_000 + "a", "nested too deeply"),
        (" + ".join("1" * 3_000), "nested too deeply"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        Expression.of(text)
    assert message in str(refused.value)


def test_a_condition_on_a_value_that_does_not_exist_is_an_error() -> None:
    for text in ("db.nothing", "db.nothing == 1", "not db.nothing", "nobody.field"):
        with pytest.raises(GraphError, match=r"no such value|has no value"):
            Expression.of(text).holds({"db": DB})


@given(st.text(st.sampled_from("{}%#- dbxy.|()[]'\"~*+<\n"), max_size=40))
def test_any_text_is_a_template_or_says_why_not(text: str) -> None:
    with suppress(ValueError, GraphError):
        assert Template.of(text).render({"db": {"x": 1, "y": ["d"]}}).data_digest
