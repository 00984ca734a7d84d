"""The Builder names and describes found types."""

import pytest

from planbook.rules import describe_type
from planbook.rules.found_types import SolvedTask
from tests.rules.builder_kit import scripted_scope
from tests.rules.household import found_types

(FETCH,) = found_types(*(SolvedTask(thing, f"fetch a {thing}", f"agent.fetch('{thing}')") for thing in ("mug", "egg")))
JSON = '{"name": "fetch_it", "summary": "Fetch it.", "parameters": {"value": "the thing"}}'


@pytest.mark.parametrize("reply", [JSON, f"It fetches {{value}}:\n{JSON}", f"```json\n{JSON}\n``` So {{it}} is."])
def test_a_type_gets_the_name_and_descriptions_of_the_builder(reply: str) -> None:
    scope, model = scripted_scope(reply)
    described = describe_type(scope, FETCH, {"put"})
    assert (described.name, described.summary) == ("fetch_it", "Fetch it.")
    assert [(each.name, each.summary) for each in described.parameters] == [("value", "the thing")]
    assert "fetch a mug" in model.prompt(0)


@pytest.mark.parametrize(
    "reply", ["It fetches.", '{"name": "put", "summary": ""}', '{"name": "Fetch it", "summary": ""}']
)
def test_without_a_usable_name_a_type_keeps_its_own(reply: str) -> None:
    scope, model = scripted_scope(reply, reply, reply)
    assert describe_type(scope, FETCH, {"put"}) == FETCH
    assert len(model.asked) == 3
