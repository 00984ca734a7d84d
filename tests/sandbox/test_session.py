"""A session as its users see it: one namespace, values, attributes, time and chance."""

import time

import pytest
from pydantic import JsonValue

from planbook.sandbox import Sandbox
from tests.sandbox.given import echo


def test_names_live_on_from_cell_to_cell(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        assert session.run("def double(x):\n    return 2 * x\ny = 4").fault is None
        assert session.run("double(y)").value == 8
        assert session.run("y = y + 1\nprint(y, 'is y')").output == "5 is y\n"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1", 1),
        ("'a' + 'é'", "aé"),
        ("(1, [2.5, None], {'a': True})", [1, [2.5, None], {"a": True}]),
        ("{1: 2}", "{1: 2}"),
        ("{1}", "{1}"),
        ("float('nan')", "nan"),
        ("'\\ud800'", "'\\ud800'"),
        ("x = 1", None),
        ("", None),
        ("# nothing", None),
        ("'x' * 300_000", "'" + "x" * 9_999 + "..."),
        ("[0] * 200_000", "[" + "0, " * 3_333 + "..."),
        ("a = []\na.append(a)\na", "[[...]]"),
    ],
)
def test_the_value_is_that_of_the_final_expression(sandbox: Sandbox, code: str, value: JsonValue) -> None:
    with sandbox.session({}) as session:
        assert session.run(code).value == value


def test_a_value_whose_text_cannot_be_made_is_no_fault(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        result = session.run("class A:\n    def __repr__(self):\n        return 1 / 0\nA()")
        assert result.value == "<A whose text could not be made: ZeroDivisionError>"
        assert result.fault is None


def test_two_sessions_share_nothing(sandbox: Sandbox) -> None:
    with sandbox.session({}) as one, sandbox.session({}) as other:
        one.run("x = 1")
        fault = other.run("x").fault
        assert fault is not None
        assert fault.type == "NameError"


def test_attributes_are_refreshed_with_every_answer_and_every_cell(sandbox: Sandbox) -> None:
    now: dict[str, JsonValue] = {"agent.location": "desk_1", "agent.bag": [], "lamp.on": False}

    def go_to(place: str) -> None:
        now["agent.location"] = place
        now["agent.bag"].append(place)  # type: ignore[union-attr]

    with sandbox.session({"agent.go_to": go_to}, attributes=lambda: now) as session:
        look = "[agent.location, agent.bag, lamp.on]"
        assert session.run(look).value == ["desk_1", [], False]
        assert session.run(f"agent.go_to('shelf')\n{look}").value == ["shelf", ["shelf"], False]
        now["lamp.on"] = True
        assert session.run(look).value == ["shelf", ["shelf"], True]
        fault = session.run("agent.location = 'here'").fault
        assert fault is not None
        assert "read-only" in fault.message
        assert session.run(look).value == ["shelf", ["shelf"], True]


def test_attributes_are_refreshed_when_a_function_raises(sandbox: Sandbox) -> None:
    now: dict[str, JsonValue] = {"agent.tries": 0}

    def fail() -> None:
        now["agent.tries"] = 1
        raise ValueError("no")

    with sandbox.session({"agent.fail": fail}, attributes=lambda: now) as session:
        assert session.run("try:\n    agent.fail()\nexcept ValueError:\n    pass\nagent.tries").value == 1


def test_values_are_records_and_fresh_objects(sandbox: Sandbox) -> None:
    values: dict[str, JsonValue] = {"task": {"goal": "g", "params": {"object": "mug"}}, "places": ["a", "b"]}
    with sandbox.session({}, values=values) as session:
        assert session.run("[task.goal, task['goal'], task.params['object'], len(places)]").value == [
            "g",
            "g",
            "mug",
            2,
        ]
        assert session.run("task.params['object'] = 'cup'\nplaces.append('c')").fault is None
        for change in ("task.goal = 'h'", "del task.goal", "task['goal'] = 'h'", "task.new = 1"):
            assert session.run(change).fault is not None, change
        fault = session.run("task.gaol").fault
        assert fault is not None
        assert fault.hint == "did you mean `goal`?"
    assert values == {"task": {"goal": "g", "params": {"object": "mug"}}, "places": ["a", "b"]}


def test_time_is_logical_and_the_hosts(sandbox: Sandbox) -> None:
    with sandbox.session({"act": echo}) as session:
        began = time.monotonic()
        result = session.run(
            "import time\na = time.time()\nb = time.time()\nact()\nc = time.time()\n"
            "time.sleep(5)\n[a, b, c, time.time()]"
        )
        assert time.monotonic() - began < 2
        assert result.fault is None
        assert isinstance(result.value, list)
        first = 946684800.0
        expected = [first + 1e-6, first + 2e-6, first + 1 + 3e-6, first + 6 + 4e-6]
        assert result.value == pytest.approx(expected, abs=2e-7, rel=0)


def test_chance_follows_the_seed(sandbox: Sandbox) -> None:
    def draw(seed: str | int) -> JsonValue:
        with sandbox.session({}, seed=seed) as session:
            return session.run("import random\n[random.random(), random.randrange(1000)]").value

    assert draw("a") == draw("a")
    assert draw("a") != draw("b")
    assert draw(7) == draw(7)
