"""The database of a graph."""

from typing import Any

import pytest

from planbook.planner.errors import GraphError
from planbook.planner.graph.database import GraphDatabase


def test_values_are_copied_in_and_out() -> None:
    plan: Any = {"steps": ["a"]}
    database = GraphDatabase({"plan": plan})
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
    assert not database.has("new.deeper")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.get("plan.gaol"), 'nothing at plan.gaol; did you mean "plan.goal"?'),
        (lambda d: d.set("plan.goal.deep", 1), "plan.goal in the database is a value"),
        (lambda d: d.append("plan.goal", 1), "not a list"),
        (lambda d: d.set("a b", 1), "is not a database path"),
        (lambda d: d.set("a", {1, 2}), "only JSON values"),
        (lambda d: d.view().set("plan.goal", 1), "cannot be changed here"),
    ],
)
def test_an_impossible_change_is_refused_with_the_reason(change: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message.replace("?", r"\?")):
        change(GraphDatabase({"plan": {"goal": "x"}}))
