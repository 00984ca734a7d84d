"""The Builder names and describes found types."""

import pytest

from planbook.rules import describe_type
from planbook.rules.found_types import Solved, with_solved
from planbook.rules.types import FoundType
from tests.rules.asking import asking


def found_type() -> FoundType:
    types: tuple[FoundType, ...] = ()
    for what in ("mug", "egg"):
        types = with_solved(types, Solved(what, f"fetch a {what}", f"agent.fetch('{what}')"))
    return types[0]


JSON = '{"name": "fetch_it", "summary": "Fetch it.", "parameters": {"value": "the thing"}}'


@pytest.mark.parametrize("reply", [JSON, f"It fetches {{value}}:\n{JSON}", f"```json\n{JSON}\n``` So {{it}} is."])
def test_a_type_gets_the_name_and_descriptions_of_the_builder(reply: str) -> None:
    scope, model = asking(reply)
    found = describe_type(scope, found_type(), {"put"})
    assert (found.name, found.summary) == ("fetch_it", "Fetch it.")
    assert [(each.name, each.summary) for each in found.parameters] == [("value", "the thing")]
    assert "fetch a mug" in model.prompt(0)


@pytest.mark.parametrize(
    "reply", ["It fetches.", '{"name": "put", "summary": ""}', '{"name": "Fetch it", "summary": ""}']
)
def test_without_a_usable_name_a_type_keeps_its_own(reply: str) -> None:
    scope, model = asking(reply, reply, reply)
    assert describe_type(scope, found_type(), {"put"}) == found_type()
    assert len(model.asked) == 3
