"""A session from the user's point of view: one namespace, values, attributes, time and random numbers."""

import time

import pytest
from pydantic import JsonValue

from planbook.sandbox import Sandbox, Session
from tests.sandbox.host_functions import echo
from tests.sandbox.plans import fault_of


def test_names_are_kept_from_cell_to_cell(session: Session) -> None:
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
        (
            "class A:\n    def __repr__(self):\n        return 1 / 0\nA()",
            "<A that could not be converted to text: ZeroDivisionError>",
        ),
    ],
)
def test_the_value_of_a_cell_is_that_of_its_final_expression(session: Session, code: str, value: JsonValue) -> None:
    result = session.run(code)
    assert (result.value, result.fault) == (value, None)


def test_attributes_are_refreshed_with_every_answer_and_every_cell(sandbox: Sandbox) -> None:
    attributes: dict[str, JsonValue] = {"agent.location": "desk_1", "agent.bag": [], "lamp.on": False}

    def go_to(place: str) -> None:
        attributes["agent.location"] = place
        attributes["agent.bag"].append(place)  # type: ignore[union-attr]
        if place == "nowhere":
            raise ValueError("no such place")

    with sandbox.session({"agent.go_to": go_to}, attributes=lambda: attributes) as session:
        look = "[agent.location, agent.bag, lamp.on]"
        assert session.run(look).value == ["desk_1", [], False]
        assert session.run(f"agent.go_to('shelf')\n{look}").value == ["shelf", ["shelf"], False]
        attributes["lamp.on"] = True
        assert session.run(look).value == ["shelf", ["shelf"], True]
        assert "read-only" in fault_of(session, "agent.location = 'here'").message
        assert session.run(look).value == ["shelf", ["shelf"], True]
        failing = "try:\n    agent.go_to('nowhere')\nexcept ValueError:\n    pass"
        assert session.run(f"{failing}\nagent.location").value == "nowhere"


def test_values_are_records_and_copies(sandbox: Sandbox) -> None:
    values: dict[str, JsonValue] = {"task": {"goal": "g", "params": {"object": "mug"}}, "places": ["a", "b"]}
    with sandbox.session({}, values=values) as session:
        shown = session.run("[task.goal, task['goal'], task.params['object'], len(places)]").value
        assert shown == ["g", "g", "mug", 2]
        assert session.run("task.params['object'] = 'cup'\nplaces.append('c')").fault is None
        for change in ("task.goal = 'h'", "del task.goal", "task['goal'] = 'h'", "task.new = 1"):
            fault_of(session, change)
        assert fault_of(session, "task.gaol").hint == "did you mean `goal`?"
        copied = "import copy\nother = copy.copy(task)\n[other == task, other is task, other.params is task.params]"
        assert session.run(copied).value == [True, False, True]
    assert values == {"task": {"goal": "g", "params": {"object": "mug"}}, "places": ["a", "b"]}


def test_time_passes_only_with_calls_and_sleep(sandbox: Sandbox) -> None:
    with sandbox.session({"act": echo}) as session:
        started = time.monotonic()
        code = "import time\na = time.time()\nb = time.time()\nact()\nc = time.time()\ntime.sleep(5)"
        result = session.run(f"{code}\n[a, b, c, time.time()]")
        assert fault_of(session, "time.sleep()").message.startswith("sleep() missing")
        assert time.monotonic() - started < 2
    assert result.fault is None
    first = 946684800.0
    expected = [first + 1e-6, first + 2e-6, first + 1 + 3e-6, first + 6 + 4e-6]
    assert result.value == pytest.approx(expected, abs=2e-7, rel=0)


def test_random_numbers_follow_from_the_seed(sandbox: Sandbox) -> None:
    def draw(seed: str | int) -> JsonValue:
        with sandbox.session({}, seed=seed) as session:
            return session.run("import random\n[random.random(), random.randrange(1000)]").value

    assert draw("a") == draw("a") != draw("b")
    assert draw(7) == draw(7)
