"""Solved tasks are grouped into types by the shapes of their plans."""

import keyword
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from planbook.rules.found_types import SolvedTask, as_procedure, procedure_code, with_solved_task
from planbook.rules.goal_words import parse_value, spans
from planbook.rules.matching import match
from planbook.rules.plan_shapes import plan_shape
from tests.rules.household import HOUSEHOLD, THINGS, found_types, heat, put

words = st.from_regex(r"[a-z]{3,8}", fullmatch=True).filter(lambda word: not keyword.iskeyword(word))


@given(st.text(), st.integers(0), st.lists(st.text(), min_size=1))
def test_plans_that_differ_in_their_constants_have_the_same_shape(text: str, number: int, listed: list[str]) -> None:
    code = "agent.do({}, [1, {}], where={})\nfor each in {}:\n    agent.go(each)"
    one = plan_shape(code.format("'a'", 2, "'b'", ["c"]))
    other = plan_shape(code.format(repr(text), number, repr(text), listed))
    assert one.shape == other.shape
    assert other.constants == (repr(text), f"[1, {number}]", repr(text), repr(listed))
    assert other.constant_names == ("", "", "where", "")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1\nagent.go(x)", '"""Go."""\nprint("going")\ny = 2\nagent.go(y)', True),
        ("assert agent.look(), 'dark'", "assert agent.look(), f'{agent} sees nothing'", True),
        ("assert agent.look(), 'dark'\nagent.go('a')", "agent.go('a')", False),
        ("x = agent.go()\nprint('it is', len(x))", "x = agent.go()", True),
        ("print('going', agent.go('a'))", "print(f'now', 'to', agent.go('b'))", True),
        ("print(agent.go('a'))", "print()", False),
        ("raise ValueError('gone')", "raise ValueError(f'{1}')", True),
        ("raise ValueError(agent.go('a'))", "raise ValueError('a')", False),
        ("class Lost(Exception): pass\nraise Lost('a')", "class Gone(Exception): pass\nraise Gone(str(1))", True),
        ("assert x, agent.go('a')", "assert x, 'nothing'", False),
        ("def f(x): agent.go(x)\nprint(f('a'))", "def f(x): agent.go(x)", False),
        ("print(list(map(agent.go, ['a'])))", "print('a')", False),
        ("def f(x): agent.go(x)\nprint(list(map(f, ['a'])))", "def f(x): agent.go(x)", False),
        ("f = agent.go\nprint(sorted(['a'], key=f))", "f = agent.go", False),
        ("seen = iter(agent.look())\nprint(next(seen))", "seen = iter(agent.look())", False),
        ("x = agent.look()\nprint(max(x, key=len))", "x = agent.look()", True),
        ("d = {}\nd['a'] = 1", "d = {}\nd['b'] = 1", True),
        ("match x:\n    case {'a': 1, **y}: agent.go(y)", "match x:\n    case {'a': 1, **z}: agent.go(z)", True),
        ("match x:\n    case {'a': y}: agent.go(y)", "match x:\n    case {'b': y}: agent.go(y)", False),
        ("print(x := 'a')\nagent.go(x)", "agent.go(x)", False),
        ("def print(x): agent.go(x)\nprint('a')", "def print(x): agent.go(x)", False),
        ("def f(a, b): agent.go(a, b)\nf(a=1, b=2)", "def g(x, y): agent.go(x, y)\ng(x=1, y=2)", True),
        ("x = 1\ny = 2\nagent.go(x)", "x = 1\ny = 2\nagent.go(y)", False),
        ("agent.go('a')", "agent.take('a')", False),
        ("getattr(agent, 'go')('a')", "getattr(agent, 'go')('b')", True),
        ("getattr(agent, 'go')('a')", "getattr(agent, 'take')('a')", False),
        ("agent.go('a')", "agent.go(True)", False),
        ("agent.go({'a': 1})", "agent.go({'b': agent.look()})", False),
        ("agent.go(a='x')", "agent.go(b='x')", False),
    ],
)
def test_plans_have_the_same_shape_if_they_take_the_same_actions(one: str, other: str, same: bool) -> None:
    assert (plan_shape(one).shape == plan_shape(other).shape) is same


@given(st.lists(st.tuples(words, words), min_size=2, max_size=6, unique=True))
def test_constants_that_vary_with_the_goals_become_parameters(pairs: list[tuple[str, str]]) -> None:
    (only,) = found_types(*(put(f"{what}x", f"{target}z") for what, target in pairs))
    assert any("what" in each.params for each in only.examples) or len({what for what, _ in pairs}) == 1
    code = procedure_code(only)
    assert code is not None
    for each in only.examples:
        filled = code
        for name, value in each.params.items():
            filled = filled.replace(f"task.params[{name!r}]", repr(value))
        assert plan_shape(filled).constants == each.constants


def test_a_type_has_a_name_a_pattern_for_each_wording_and_a_procedure() -> None:
    assert [each.name for each in HOUSEHOLD] == ["put", "heat_put"]
    assert found_types(put("mug", "desk", "look round, search hard, put {} in {}"))[0].name == "look_round_search_hard"
    (same,) = found_types(heat("egg", "fridge"), heat("mug", "desk", "put a hot {} in {}"))
    assert [each.pattern for each in same.wordings] == [
        "heat {what} and put it in {target}",
        "put hot {what} in {target}",
    ]
    code = procedure_code(HOUSEHOLD[1]) or ""
    assert "what, target = (task.params['what'], task.params['target'])" in code
    assert "agent.heat(what, 'microwave')" in code
    assert code.startswith("def solve(agent, task):\n\n    def find(agent, thing, places):")


READS_A_VARIABLE = """
def find(thing):
    for place in PLACES:
        agent.go(f"{place} {thing}")
PLACES = ["desk", "shelf"]
find("mug")
"""
DEFINES_TWICE = """
def name(n): return f"box {n}"
agent.go(name(1))
def name(n): return f"drawer {n}"
agent.go(name(2))
"""
HAS_A_GLOBAL = """
count = 1
def step():
    global count
    count += 1
    agent.go(f"desk {count}")
step()
"""
DEFINES_SOLVE = """
def solve(agent, task):
    agent.go("desk")
solve(agent, task)
"""


class Walker:
    """An agent that records where it goes."""

    def __init__(self) -> None:
        self.places: list[str] = []

    def go(self, place: str) -> str:
        self.places.append(place)
        return f"at {place}"


@pytest.mark.parametrize("plan", [READS_A_VARIABLE, DEFINES_TWICE, HAS_A_GLOBAL, DEFINES_SOLVE, ""])
def test_a_plan_takes_the_same_actions_as_a_procedure(plan: str) -> None:
    walkers = Walker(), Walker()
    exec(plan, {"agent": walkers[0], "task": None})
    names: dict[str, Any] = {}
    exec(as_procedure(plan), names)
    names["solve"](walkers[1], None)
    assert walkers[0].places == walkers[1].places


@pytest.mark.parametrize(
    "code",
    [
        'for place in ["desk", "shelf"]:\n    print("seen:", agent.go(place))\nprint(agent.take("WHAT 1"))',
        'assert agent.look(), agent.take("WHAT 1")',
        "raise ValueError(f\"it was {agent.take('WHAT')}\")",
    ],
)
def test_constants_of_actions_inside_messages_become_parameters(code: str) -> None:
    (only,) = found_types(*(SolvedTask(what, f"take a {what}", code.replace("WHAT", what)) for what in THINGS[:3]))
    assert [each.name for each in only.parameters] == ["value"]
    procedure = procedure_code(only) or ""
    assert "task.params['value']" in procedure
    assert not any(thing in procedure for thing in THINGS)


def test_a_plan_without_one_of_the_parameters_belongs_to_another_type() -> None:
    code, goal = "agent.buy('{}', {})", "please buy {} now for me, and pay with {}"
    buys = [
        SolvedTask(what, goal.format(what, paid), code.format(what, paid)) for what, paid in (("mug", 1), ("egg", 2))
    ]
    types = found_types(*buys, SolvedTask("odd", goal.format("pen", "cash"), code.format("pen", 3)))
    assert [[each.name for each in kind.parameters] for kind in types] == [["value", "value_2"], ["value"]]


def test_keys_of_patterns_stay_and_keys_of_assignments_become_parameters() -> None:
    code = "match agent.look():\n    case {'box': box}:\n        wanted = {}\n        wanted['WHAT'] = box"
    (only,) = found_types(*(SolvedTask(what, f"take a {what}", code.replace("WHAT", what)) for what in THINGS[:3]))
    assert "case {'box': box}:" in (procedure_code(only) or "")
    assert "wanted[task.params['value']] = box" in (procedure_code(only) or "")
    earlier = only.model_copy(
        update={
            "constant_names": (),
            "examples": tuple(each.model_copy(update={"constants": ()}) for each in only.examples),
        }
    )
    assert procedure_code(earlier) is None, "an earlier version stored the type without the keys"


NAMED, UNNAMED = "where = 'PLACE'\nagent.put('WHAT', where)", "agent.put('WHAT', 'PLACE')"


@pytest.mark.parametrize(
    ("code", "goal", "place", "pattern"),
    [
        (NAMED, "put a {} in {}", "desk", "put {value} in {where}"),
        (NAMED, "bring a {} to {}", "Bob", "bring {value} to {where}"),
        (NAMED, "bring a {} to {}", "desk", "bring {value} to desk"),
        (NAMED, "take a {} and {} it", "reply", "take {value} and reply it"),
        (NAMED, "{1} the {0}", "Reply", "reply {value}"),
        (NAMED, "let's {1} the {0}", "reply", "let 's reply {value}"),
        (NAMED, "put a {1} {0} in the desk", "hot", "put hot {value} in desk"),
        (NAMED, "look at a {1} {0}", "hot", "look at hot {value}"),
        (NAMED.replace("'PLACE'", "2"), "take {1} of {0}", "two", "take two of {value}"),
        (NAMED + "\nagent.go('to the PLACE')", "put a {} in {}", "desk", "put {value} in desk"),
        (NAMED + "\nagent.use_PLACE()", "heat a {} with {}", "microwave", "heat {value} with microwave"),
        (UNNAMED, "put a {} in {}", "desk", "put {value} in desk"),
        ("PLACES = ['PLACE', 'shelf']\nagent.put('WHAT', PLACES)", "put a {} in {}", "desk", "put {value} in desk"),
    ],
)
def test_after_three_examples_only_named_values_are_parameters_if_they_never_varied(
    code: str, goal: str, place: str, pattern: str
) -> None:
    """Such a value must not occur elsewhere in the plan, and all goals must use it as a noun."""
    solved = [
        SolvedTask(what, goal.format(what, place), code.replace("WHAT", what).replace("PLACE", place))
        for what in THINGS[:3]
    ]
    assert [len(only.parameters) for only in found_types(*solved[:2])] == [2]
    assert [each.pattern for only in found_types(*solved) for each in only.wordings] == [pattern]


def test_the_name_of_an_attribute_is_not_a_parameter() -> None:
    code = "look = getattr(agent, 'examine') if hasattr(agent, 'examine') else agent.look\nlook('mug 1')"
    (only,) = found_types(SolvedTask("mug", "examine the mug 1.", code))
    assert [each.pattern for each in only.wordings] == ["examine {value}"]


def test_constants_that_vary_independently_of_the_goals_give_no_procedure() -> None:
    code = "agent.take('{} {}')"
    goals = (("mug", 1), ("egg", 2))
    (only,) = found_types(
        *(SolvedTask(what, f"please take a {what} now", code.format(what, number)) for what, number in goals)
    )
    assert procedure_code(only) is None


def test_a_difference_that_the_goals_do_not_explain_makes_two_types() -> None:
    answer, delete = ("answer {}'s mail", "#answer"), ("throw out what {} sent", "#bin")
    types = found_types(
        *(
            SolvedTask(f"{goal}/{who}", goal.format(who), f"agent.open('{who}')\nagent.click('{button}')")
            for goal, button in (answer, delete)
            for who in ("Ann", "Bob")
        )
    )
    assert [each.wordings[0].pattern for each in types] == ["answer {value} 's mail", "throw out what {value} sent"]
    assert match(types, "Answer Eve's mail.").params == {"value": "Eve"}


@pytest.mark.parametrize(
    ("code", "goal", "values", "expected"),
    [
        ("agent.go('to[{}]')", "see {}", ("red shoes", "jeans"), "agent.go(f\"to[{task.params['value']}]\")"),
        ("limit = {}", "below {}.00 dollars", (40, 25), "limit = task.params['limit']"),
        ("agent.find('{}', count=2)", "find two of {}", ("mug", "egg"), "agent.find(task.params['value'], count=2)"),
        ("agent.say(['{}', 'x'])", "say {}", ("hello", "bye"), "agent.say([task.params['value'], 'x'])"),
    ],
)
def test_a_parameter_replaces_the_part_of_a_constant_that_goals_name(
    code: str, goal: str, values: tuple[Any, ...], expected: str
) -> None:
    (only,) = found_types(
        *(SolvedTask(str(n), goal.format(each), code.format(each)) for n, each in enumerate((*values, values[0])))
    )
    assert expected in (procedure_code(only) or "")


@pytest.mark.parametrize(
    ("form", "written", "value"),
    [
        ("integer", "zero", 0),
        ("integer", "Ten", 10),
        ("integer", "12", 12),
        ("integer", 2.5, None),
        ("integer", "a few", None),
        ("number", "nan", None),
        ("number", float("inf"), None),
        ("number", "2.50", 2.5),
        ("number", 2, 2),
        ("with _", "Red Shoes", "red_shoes"),
        ("as it is", 7, "7"),
        ("as it is", True, None),
        ("lower", ["mug"], None),
    ],
)
def test_a_value_is_converted_to_the_form_of_its_parameter(form: str, written: JsonValue, value: JsonValue) -> None:
    parsed = parse_value(written, form)
    assert (parsed, type(parsed)) == (value, type(value))


def test_values_are_found_in_goals_by_their_form() -> None:
    assert spans(0, "integer", "find zero mugs") == [(1, 2)]
    assert spans(2, "integer", "find 2 mugs") == [(1, 2)]
    assert spans(40.0, "number", "for 40.00 dollars") == [(1, 2)]
    assert spans("in", "as it is", "put it in") == []


def test_the_longer_of_two_overlapping_values_gets_the_slot() -> None:
    goals = (("red book", "red"), ("old pen", "old"))
    (only,) = found_types(*(SolvedTask(a, f"send {a}", f"agent.send({a!r}, {b!r})") for a, b in goals))
    assert [each.pattern for each in only.wordings] == ["send {value}"]


def test_a_goal_with_braces_fits_its_own_pattern() -> None:
    (only,) = found_types(
        *(SolvedTask(what, f"put {{red}} {what} away", f"agent.put('{what}')") for what in THINGS[:3])
    )
    assert [each.pattern for each in only.wordings] == ["put ( red ) {value} away"]
    assert match((only,), "put {red} spoon away").params == {"value": "spoon"}


def test_a_task_joins_the_type_whose_procedure_solved_it() -> None:
    other = SolvedTask(
        "other", "place a pen in drawer", "agent.put('pen', 'drawer')", "put", {"what": "pen", "target": "drawer"}
    )
    types = with_solved_task(HOUSEHOLD, other)
    assert len(types) == 2
    assert match(types, "place an egg in desk").params == {"what": "egg", "target": "desk"}


def test_goals_that_the_plan_reads_itself_are_matched_by_their_common_words() -> None:
    goals = ("buy red shoes for less than 40.00 dollars", "buy a tall lamp for less than 9.50 dollars")
    (only,) = found_types(*(SolvedTask(goal, goal, "buy(agent, task.goal)") for goal in goals))
    assert [each.pattern for each in only.wordings] == ["buy {*} for less than {*} dollars"]
    assert match((only,), "buy soap for less than 3 dollars").type == only.name
    assert match((only,), "sell soap for less than 3 dollars").type == ""
    assert procedure_code(only) == "def solve(agent, task):\n    buy(agent, task.goal)"
