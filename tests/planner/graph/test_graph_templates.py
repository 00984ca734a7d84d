"""Templates and expressions in graph files: what they can read, and the messages for mistakes."""

import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from planbook.planner.errors import GraphError
from planbook.planner.graph.file import SHIPPED_GRAPHS, graph_path, read_graph
from planbook.planner.graph.templating import Expression, Template
from planbook.planner.types import digest_of
from tests.sandbox.fuzz.size import SECONDS, seconds_of

DB: dict[str, Any] = {
    "plan": {"goal": "home", "items": "three", "steps": ["a", {"b": None}]},
    "number": 3,
    "evil": "{{ db.secret }} $db.secret$",
    "secret": "SECRET",
    "rows": [{"name": "x", "open": "yes"}, {"name": "y", "open": "no"}],
}


def rendered(text: str, **values: Any) -> str:
    return Template(text).render({"db": DB, **values})


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
        ("{{ db.plan | map }}", "map requires a filter argument"),
        ("{{ db.secret - 3 }}", "unsupported operand"),
        ("{% for key, value in db.rows | dictsort %}{% endfor %}", "has no attribute 'items'"),
    ],
)
def test_a_failing_template_explains_why(text: str, message: str) -> None:
    with pytest.raises(GraphError) as refused:
        rendered(text)
    assert message in str(refused.value)


def test_a_template_that_uses_other_files_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot use other files"):
        Template("{% include 'other' %}")


def test_a_loop_over_thousands_of_items_may_look_up_their_list_each_time() -> None:
    steps: list[Any] = [f"step {number}" for number in range(10_000)]
    source = "{% for step in plan.steps %}{{ loop.index }} of {{ plan.steps | length }}: {{ step }}\n{% endfor %}"
    started = time.thread_time()
    assert "9999 of 10000: step 9998" in Template(source).render({"plan": {"steps": steps}})
    assert time.thread_time() - started < 5
    pairs = Template("{% for a in plan.steps %}{% for b in plan.steps %}{{ a }} or {{ b }}?{% endfor %}{% endfor %}")
    with pytest.raises(GraphError, match="more than 10,000,000 characters"):
        pairs.render({"plan": {"steps": steps}})


@pytest.mark.parametrize("graph", sorted(path.stem for path in SHIPPED_GRAPHS.glob("*.yaml")))
def test_a_long_answer_is_inserted_within_a_second(graph: str) -> None:
    text = "{{ db.x }} [" * 10_000
    for node in read_graph(graph_path(graph)).all_nodes:
        for template in node.texts.values():
            values: dict[str, Any] = {"db": {"step": {"number": 1, "nth": 2, "most": 3, "actions": 2}}}
            for path in (look_up.path for look_up in template.look_ups if "db.step" not in look_up.path):
                *parents, last = path.split(".")
                place = values
                for name in parents:
                    place = place.setdefault(name, {})
                place[last] = text

            def render(template: Template = template, values: dict[str, Any] = values) -> None:
                template.render(values)

            assert seconds_of(render) < SECONDS or seconds_of(render) < SECONDS, "it was too slow twice"


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        (Template, "{{ db.plan", "the template: unexpected end"),
        (Template, "a\n{% if db %}", "the template, line 2: Unexpected end of template"),
        (Template, "{{ db.plan | uper }}", "No filter named 'uper'"),
        (Template, "{{ db.plan | attr('x') }}", "No filter named 'attr'"),
        (Template, "{{ db.plan | random }}", "No filter named 'random'"),
        (Template, "{{ db.plan is good }}", "No test named 'good'"),
        (Template, "{% for a in db %}" * 25 + "{% endfor %}" * 25, "the template: this is nested too deeply"),
        (Template, "{{ " + "(" * 5_000, "nested too deeply"),
        (Expression, "look ==", "unexpected 'end of template'"),
        (Expression, "a }} {{ b", "chunk after expression"),
        (Expression, "a, b", "chunk after expression"),
        (Expression, "not " * 5_000 + "a", "nested too deeply"),
        (Expression, " + ".join("1" * 3_000), "nested too deeply"),
    ],
)
def test_invalid_syntax_is_refused_when_a_template_or_an_expression_is_read(
    form: type[Template | Expression], text: str, message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        form(text)
    assert message in str(refused.value)


def test_no_python_attribute_can_be_reached() -> None:
    for attribute in ("__class__", "__init__", "_values", "keys", "format", "append"):
        for value in ("db", "db.plan.goal", "db.rows", "db.number", "loop"):
            text = f"{{% for a in [1] %}}{{{{ {value}.{attribute} }}}}{{% endfor %}}"
            with pytest.raises(GraphError):
                rendered(text)


def test_the_digest_of_a_text_depends_on_the_values_that_it_looked_up() -> None:
    text = "{{ db.plan.goal }} {{ db.none | default('words') }} {{ item }} {{ db.number }}"
    rendered_text = Template(text).render({"db": DB, "item": "I"})
    assert rendered_text.data_digest == digest_of([{"goal": "home"}, {"": "I"}, {"number": 3}])
    other_words = Template(f"So: {text.replace('words', 'other words')}").render({"db": DB, "item": "I"})
    assert other_words.data_digest == rendered_text.data_digest
    assert Template("{{ db.plan.items }}").render({"db": DB}).data_digest != rendered_text.data_digest


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
    assert Expression(text).holds({"db": DB, "look": "yes"}) is holds


def test_a_condition_on_a_missing_value_is_an_error() -> None:
    for text in ("db.nothing", "db.nothing == 1", "not db.nothing", "nobody.field"):
        with pytest.raises(GraphError, match=r"no such value|has no value"):
            Expression(text).holds({"db": DB})


@given(st.text(st.sampled_from("{}%#- dbxy.|()[]'\"~*+<\n"), max_size=40))
def test_any_text_is_a_template_or_a_known_error(text: str) -> None:
    with suppress(ValueError, GraphError):
        assert Template(text).render({"db": {"x": 1, "y": ["d"]}}).data_digest
