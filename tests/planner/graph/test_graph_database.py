"""The database, and look-ups of it in prompts."""

from typing import Any

import pytest

from planbook.planner.graph import Database, GraphError, condition_of


def test_values_go_in_and_come_out_as_copies() -> None:
    plan: Any = {"steps": ["a"]}
    database = Database({"plan": plan})
    plan["steps"].append("b")
    got: Any = database.get("plan.steps")
    got.append("c")
    assert database.values() == {"plan": {"steps": ["a"]}}
    stored: Any = [1]
    database.set("new.deep.list", stored)
    stored.append(2)
    database.append("new.deep.list", 3)
    assert database.get("new.deep.list") == [1, 3]
    assert database.get("new.deep.list.1") == 3
    database.delete("new.deep")
    assert database.get("new") == {}
    assert not database.has("new.deep")


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda d: d.get("plan.gaol"), 'nothing at plan.gaol; did you mean "plan.goal"?'),
        (lambda d: d.set("plan.goal.deep", 1), "plan.goal of the database is a value"),
        (lambda d: d.append("plan.goal", 1), "no list"),
        (lambda d: d.delete("zzz"), "nothing at zzz"),
        (lambda d: d.set("a b", 1), "is no path"),
        (lambda d: d.set("a", {1, 2}), "only values of JSON"),
        (lambda d: d.view().set("plan.goal", 1), "cannot be changed here"),
        (lambda d: d.look_up("Go to $db.plan.gaol$"), r'\$db.plan.gaol\$ finds nothing; did you mean "plan.goal"'),
        (lambda d: d.look_up("$item.x$", given={"item": {"y": 1}}), "finds nothing"),
    ],
)
def test_what_cannot_be_done_says_why(act: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message.replace("?", r"\?")):
        act(Database({"plan": {"goal": "x"}}))


def test_look_ups_are_replaced_once_and_only_in_the_text_of_the_author() -> None:
    database = Database({"secret": "S", "said": "$db.secret$ $item$", "steps": ["a", {"b": None}], "n": 3})
    text = "It costs 5$ or $6$. $db.said$; $db.steps.0$ $db.n$ $db.none|nothing yet$ $db.none|$. $item$ $other$"
    assert (
        database.look_up(text, given={"item": "$db.secret$"})
        == ("It costs 5$ or $6$. $db.secret$ $item$; a 3 nothing, $yet$ . $db.secret$ $other$")
        or database.look_up("$db.none|nothing yet$") == "nothing yet"
    )
    assert database.look_up("$db.said$ $item$", given={"item": "$db.secret$"}) == "$db.secret$ $item$ $db.secret$"
    assert database.look_up("$db.steps$") == '[\n "a",\n {\n  "b": null\n }\n]'


@pytest.mark.parametrize(
    ("written", "holds"),
    [
        ({"a": "Yes "}, True),
        ({"a": "no"}, False),
        ({"n": 1}, False),
        ({"n": True}, True),
        ({"n": {"not": False}}, True),
        ({"k": {"at_least": 3, "at_most": 3}}, True),
        ({"k": {"at_least": 3.5}}, False),
        ({"a": {"at_least": 1}}, False),
        ({"a": {"in": ["no", "yes"]}}, True),
        ({"a": {"not_in": ["no", "yes"]}}, False),
        ({"gone": {"exists": False}}, True),
        ({"gone": {"not": "x"}}, True),
        ({"gone": None}, False),
        ({"gone": {"at_most": 3}}, False),
        ({"a": "yes", "k": 4}, False),
        ({"any": [{"a": "no"}, {"k": 3}]}, True),
        ({"not": {"any": [{"a": "no"}, {"k": 3}]}}, False),
        ({"all": [{"a": "yes"}, {"not": {"k": 4}}]}, True),
    ],
)
def test_conditions(written: Any, holds: bool) -> None:
    there: dict[str, Any] = {"a": "yes", "n": True, "k": 3}
    assert condition_of(written).holds(there.__getitem__) is holds


@pytest.mark.parametrize(
    "written",
    [{}, "yes", None, {"a": {}}, {"a": {"is like": 1}}, {"a b": 1}, {"any": {}}, {"all": []}, {"not": []},
     {"a": {"in": "x"}}, {"a": {"at_least": "3"}}, {"a": {"exists": "yes"}}, {"any": ["x"]}],
)  # fmt: skip
def test_what_is_no_condition_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match=r"condition|compar|list|number|names|true or false"):
        condition_of(written)
