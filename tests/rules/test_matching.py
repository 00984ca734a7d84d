"""Goals are matched with found task types by patterns, by words, or by a model."""

import time
from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from planbook.envs import Task
from planbook.envs.toy import Toy
from planbook.planner import parse_procedure
from planbook.rules.found_types import SolvedTask
from planbook.rules.learned_memory import LearnedMemory
from planbook.rules.matching import PATTERN, WORDS, candidates, is_doubtful, match
from planbook.rules.types import Knowledge
from tests.rules.household import HOUSEHOLD, found_types, put


@pytest.mark.parametrize(
    ("goal", "type_name", "params", "by"),
    [
        ("put a mug in desk.", "put", {"what": "mug", "target": "desk"}, PATTERN),
        ("Put the lettuce in the cabinet", "put", {"what": "lettuce", "target": "cabinet"}, PATTERN),
        ("in the fridge put the mug", "put", {"what": "mug", "target": "fridge"}, WORDS),
        ("Heating an apple, then put it into the fridge", "heat_put", {"what": "apple", "target": "fridge"}, WORDS),
        ("Heated an apple, then put it into the fridge", "heat_put", {"what": "apple", "target": "fridge"}, WORDS),
        ("Please put the book onto the so fa.", "put", {"what": "book", "target": "sofa"}, WORDS),
        ("heat the fridge and put the egg in it", "", {}, ""),
        ("do not put the mug in the fridge", "", {}, ""),
        ("put the mug or the egg in the fridge", "", {}, ""),
        ("put the egg onto the sofa after you heat it", "", {}, ""),
        ("put a hot mug in desk", "", {}, ""),
        ("put a heat in desk", "", {}, ""),
        ("put two mug in desk", "", {}, ""),
        ("water the plants", "", {}, ""),
        ("put", "", {}, ""),
        ("", "", {}, ""),
    ],
)
def test_goals_are_matched_or_left_unmatched(goal: str, type_name: str, params: dict[str, str], by: str) -> None:
    found_match = match(HOUSEHOLD, goal)
    assert (found_match.type, found_match.params, found_match.by) == (type_name, params, by)


@given(st.text())
def test_a_goal_is_matched_with_all_parameters_or_not_at_all(goal: str) -> None:
    found_match = match(HOUSEHOLD, goal)
    assert not found_match.type or set(found_match.params) == {"what", "target"}


def test_a_goal_that_fits_two_types_is_left_unmatched() -> None:
    other = SolvedTask("other", "put a pen in drawer", "agent.put('pen', 'drawer')")
    types = found_types(put("mug", "desk"), other)
    assert match(types, "put a pen in desk").type == ""
    offered = candidates(types, "put a pen in desk")
    assert [(each.name, each.had) for each in offered] == [
        ("put", {"what": ("mug",), "target": ("desk",)}),
        ("put_2", {"value": ("pen",), "value_2": ("drawer",)}),
    ]


def test_merged_wordings_keep_the_places_of_parameters() -> None:
    goals = ("get {} with {} , please, and pay soon", "i want {} in {} , please, and pay soon")
    values = (("red shoes", "small"), ("a lamp", "green wood"))
    types = found_types(
        *(
            SolvedTask(f"{goal}{what}", goal.format(what, how), f"agent.buy('{what}', how='{how}')")
            for goal in goals
            for what, how in values
        )
    )
    assert [each.pattern for each in types[0].wordings] == ["{*} {value} {*} {how} , please , and pay soon"]
    goal = "get old cups with rims, please, and pay soon"
    assert match(types, goal).params == {"value": "old cups", "how": "rims"}


@pytest.mark.parametrize(
    ("goal", "matched"),
    [
        ("find me a lamp, for less than 5 dollars", True),
        ("i need soap, for less than 5 dollars", True),
        ("cancel the lamp, for less than 5 dollars", False),
        ("i don't need soap, for less than 5 dollars", False),
        ("find me soap but not today, for less than 5 dollars", False),
        ("find me the two cheapest lamps, for less than 5 dollars", False),
        ("find me what to return, for less than 5 dollars", False),
    ],
)
def test_a_goal_is_not_matched_if_new_words_change_its_meaning(goal: str, matched: bool) -> None:
    goals = ("find me red shoes, for less than 40 dollars", "i need a tall lamp, for less than 9 dollars")
    back = SolvedTask("back", "return soap", "agent.give('soap')")
    types = found_types(*(SolvedTask(each, each, "buy(agent, task.goal)") for each in goals), back)
    assert types[0].wordings[0].pattern == "{*} , for less than {*} dollars"
    assert (match(types, goal).type == types[0].name) is matched


@pytest.mark.parametrize(
    ("goal", "params"),
    [
        ("Close ticket 3 with 'all well'", {"ticket": 3, "note": "all well"}),
        ("Close the ticket 3 with 'lost'", {"ticket": 3, "note": "lost"}),
        ("Close ticket 3 with 'The server'", {}),
        ("Close ticket 3 with 'the lost'", {}),
        ("Close ticket 3 with 'vitamin A'", {}),
        ("Refund 7 dollars for ticket 3", {"ticket": 3, "amount": 7}),
        ("Refund $7 on ticket 3", {"ticket": 3, "amount": 7}),
        ("Refund -7 dollars for ticket 3", {}),
        ("Refund $-7 on ticket 3", {}),
        ("Refund 1,000 dollars for ticket 3", {}),
        ("Refund 7 cents for ticket 3", {}),
        ("Refund 7% for ticket 3", {}),
    ],
)
def test_a_goal_is_not_matched_if_words_next_to_a_value_change_it(goal: str, params: dict[str, JsonValue]) -> None:
    close, refund = "agent.close(ticket={}, note={!r})", "agent.refund(ticket={}, amount={!r})"
    types = found_types(
        SolvedTask("1", "Close ticket 1 with 'fixed'", close.format(1, "fixed")),
        SolvedTask("2", "Close ticket 2 with 'not found'", close.format(2, "not found")),
        SolvedTask("3", "Refund 5 dollars for ticket 1", refund.format(1, 5.0)),
        SolvedTask("4", "Refund 12 dollars for ticket 2", refund.format(2, 12.0)),
        SolvedTask("5", "Refund $8 on ticket 4", refund.format(4, 8.0)),
    )
    assert types[1].wordings[0].pattern == "refund {*} {amount} {*} ticket {ticket}"
    assert match(types, goal).params == params


def test_a_long_goal_that_nearly_fits_a_pattern_takes_little_time() -> None:
    goals = (
        "please look at the table and then find an apple near a window before you put it on some shelf in that room",
        "now look around table quickly then find big apple standing near window after that put it upon shelf into room",
    )
    types = found_types(*(SolvedTask(goal, goal, "agent.go('x')") for goal in goals))
    assert types[0].wordings[0].pattern.count("{*}") > 6
    words = "please " + "look table then find apple near window put it shelf " * 100
    started = time.process_time()
    assert match(types, words).type == ""
    assert match(types, f"{words}room").type == types[0].name
    assert time.process_time() - started < 5


def test_a_goal_with_two_readings_is_left_unmatched() -> None:
    goals = [("send {} to {}", ("red book", "old ann")), ("send {} to {}", ("pen", "bob"))]
    code = "agent.send('{}', '{}')"
    (only,) = found_types(
        *(SolvedTask(values[0], goal.format(*values), code.format(*values)) for goal, values in goals)
    )
    assert match([only], "send red pen to bob").params == {"value": "red pen", "value_2": "bob"}
    assert match([only], "send ink to to eve").type == ""


# How the memory uses a match that a model has named.

BUY = found_types(
    *(SolvedTask(each, f"buy {each} apples", f"agent.buy({n})") for n, each in enumerate(["two", "three"], 2))
)[0]
SELL = BUY.model_copy(update={"name": "sell"})
PROCEDURE = parse_procedure(
    '"""B.\n\nworld: toy\ntype: buy_apples\nsource: me\n"""\n\ndef solve(agent, task): task.params["value"]\n', "x"
)
SHOP = LearnedMemory(Knowledge(environment="toy", found=(BUY, SELL), procedures={"buy_apples": PROCEDURE}), Toy)


def shopping(type: str = "", params: Mapping[str, JsonValue] | None = None, goal: str = "get me five apples") -> Task:
    return Task(id=f"{type}{params}{goal}", env="toy", split="all", type=type, goal=goal, params=dict(params or {}))


def test_only_types_with_a_procedure_are_offered_to_a_model() -> None:
    recall = SHOP.recall(shopping())
    assert recall.match is not None
    assert [each.name for each in recall.match.candidates] == ["buy_apples"]


@pytest.mark.parametrize(
    ("params", "value"),
    [({"value": "five"}, 5), ({"value": 5}, 5), ({"value": "5"}, 5), ({"value": "few"}, None), ({"value": None}, None)],
)
def test_parameters_of_a_match_get_the_form_of_their_type(params: dict[str, JsonValue], value: JsonValue) -> None:
    recall = SHOP.recall(shopping("buy_apples", params))
    assert recall.match is not None
    assert recall.match.params == ({} if value is None else {"value": value})
    assert recall.match.type == ("" if value is None else "buy_apples")
    assert (recall.procedure is not None) is (value is not None)


@pytest.mark.parametrize(
    ("what", "doubtful"),
    [("mug", False), ("knife", False), ("cookbook", True), ("eggs", True), ("glasses", True), ("tall lamp", False)],
)
def test_a_value_that_may_be_another_word_for_a_known_one_is_doubtful(what: str, doubtful: bool) -> None:
    matched = match(HOUSEHOLD, "put a pen in desk").model_copy(update={"params": {"what": what, "target": "desk"}})
    assert is_doubtful(HOUSEHOLD, matched) is doubtful


def test_a_procedure_that_reads_an_unmatched_param_is_not_used() -> None:
    code = PROCEDURE.code.replace('task.params["value"]', "agent.buy(task.params['{}'])")
    for name in ("value", "other"):
        only = parse_procedure(code.format(name), "x")
        memory = LearnedMemory(Knowledge(environment="toy", found=(BUY,), procedures={"buy_apples": only}), Toy)
        assert (memory.recall(shopping(goal="buy nine apples")).procedure is not None) is (name == "value")


def test_a_goal_is_matched_if_the_params_of_its_task_have_other_names() -> None:
    memory = LearnedMemory(Knowledge(environment="toy", found=(BUY,), procedures={"buy_apples": PROCEDURE}), Toy)
    recall = memory.recall(shopping("buy_apples", {"number": "nine"}, "buy nine apples"))
    assert recall.match is not None
    assert recall.match.params == {"value": 9}


def test_a_procedure_is_not_used_if_it_ignores_a_param_with_a_new_value() -> None:
    code = PROCEDURE.code.replace('task.params["value"]', "agent.buy({})")
    sold = found_types(*(SolvedTask(str(n), f"sell {n} pears", f"agent.sell({n})") for n in (8, 9)))
    for argument, value, used in (
        ("2", "two", True),
        ("2", "nine", False),
        ("task.goal.split()[1]", "nine", True),
        ("task.params.get('value')", "nine", True),
    ):
        only = parse_procedure(code.format(argument), "x")
        memory = LearnedMemory(Knowledge(environment="toy", found=(BUY, *sold), procedures={"buy_apples": only}), Toy)
        assert (memory.recall(shopping(goal=f"buy {value} apples")).procedure is not None) is used
