"""Names and descriptions of found types, which the Builder gives."""

import pytest

from planbook.rules import describe_type
from planbook.rules.found_types import Solved, with_solved
from planbook.rules.types import FoundType
from tests.rules.told import asking


def kind() -> FoundType:
    types: tuple[FoundType, ...] = ()
    for what in ("mug", "egg"):
        types = with_solved(types, Solved(what, f"fetch a {what}", f"agent.fetch('{what}')"))
    return types[0]


@pytest.mark.parametrize(
    "reply",
    [
        '{"name": "fetch_it", "summary": "Fetch it.", "parameters": {"value": "the thing"}}',
        'It fetches {value}:\n{"name": "fetch_it", "summary": "Fetch it.", "parameters": {"value": "the thing"}}',
        '```json\n{"name": "fetch_it", "summary": "Fetch it.", "parameters": {"value": "the thing"}}\n``` So {it} is.',
    ],
)
def test_a_type_gets_the_name_and_words_of_the_builder(reply: str) -> None:
    scope, model = asking(reply)
    found = describe_type(scope, kind(), {"put"})
    assert (found.name, found.summary) == ("fetch_it", "Fetch it.")
    assert [(each.name, each.summary) for each in found.parameters] == [("value", "the thing")]
    assert "fetch a mug" in model.asked[0][-1].content


@pytest.mark.parametrize(
    "reply", ["It fetches.", '{"name": "put", "summary": ""}', '{"name": "Fetch it", "summary": ""}']
)
def test_a_type_keeps_its_plain_name_without_a_usable_one(reply: str) -> None:
    scope, model = asking(reply, reply, reply)
    assert describe_type(scope, kind(), {"put"}) == kind()
    assert len(model.asked) == 3
