"""For random JSON Schemas, the signature of a tool accepts the same arguments as JSON Schema validation."""

import time
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.types import Tool as McpTool

from planbook.envs.tools.environment import ToolFailed
from planbook.envs.tools.mcp_env import tool_of
from planbook.envs.tools.schemas import (
    arguments_of_schema,
    describe_schema,
    keyed_arguments,
    parameter_docs,
    python_name,
    with_merged_properties,
)
from planbook.sandbox.functions import FunctionSpec

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5)
NUMBERS = st.integers(-20, 20)
FLOATS = st.integers(-40, 40).map(lambda number: number + 0.5)
SCALARS = TEXTS | NUMBERS | st.booleans() | st.none() | FLOATS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=5
)
NAMES = st.sampled_from(["a", "b c", "from", "self", "_x", "9", "class", "naïve", "a-b", "a.b", "", "b_c"])
LEAVES = (
    st.sampled_from(
        [{}, True, {"type": "boolean"}, {"type": "null"}, {"$ref": "#/$defs/D"}, {"type": ["integer", "null"]}]
    )
    | st.builds(lambda low: {"type": "integer", "minimum": low}, NUMBERS)
    | st.builds(lambda low: {"type": "number", "maximum": low}, NUMBERS)
    | st.builds(lambda length: {"type": "string", "maxLength": length}, st.integers(0, 4))
    | st.builds(lambda values: {"enum": values}, st.lists(SCALARS, min_size=1, max_size=3, unique_by=repr))
    | st.builds(lambda value: {"const": value}, SCALARS)
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda properties, required: {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in required],
        },
        st.dictionaries(NAMES, inner, max_size=3),
        st.sets(NAMES),
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items, "maxItems": 2}, inner)
        | st.builds(lambda several: {"anyOf": several}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda several: {"oneOf": several}, st.lists(inner, min_size=1, max_size=2))
        | objects(inner)
    ),
    max_leaves=4,
)
DEFAULTED = st.builds(
    lambda schema, default: {**schema, "default": default} if isinstance(schema, dict) else schema, SCHEMAS, SCALARS
)
TOOLS = st.builds(
    lambda schema, definition: {**schema, "$defs": {"D": definition}}, objects(SCHEMAS | DEFAULTED), LEAVES
).filter(lambda schema: schema["$defs"]["D"] != {"$ref": "#/$defs/D"})


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(TOOLS, st.data())
def test_the_signature_and_the_validation_of_a_schema_agree(schema: dict[str, Any], data: st.DataObject) -> None:
    tool = tool_of("server", "tool", McpTool(name="tool", input_schema=schema))
    names = [each.name for each in tool.arguments]
    assert len(set(names)) == len(names) == len(schema["properties"])

    def call(*args: Any) -> dict[str, Any]:
        sent = keyed_arguments(tool.arguments, args)
        tool.source.check(sent)
        return sent

    assert tool.spec.signature == tool.signature
    call.__signature__ = tool.signature  # type: ignore[attr-defined]
    spec = FunctionSpec.of("agent.tool", call)
    values = [data.draw(VALUES | _fitting(schema["properties"][each.key])) for each in tool.arguments]
    sent = keyed_arguments(tool.arguments, values)
    valid = jsonschema.Draft202012Validator(schema).is_valid(sent)
    try:
        args, kwargs = spec.check(values, {})
        accepted = call(*args, **kwargs) == sent
    except (TypeError, ValueError, ToolFailed):
        accepted = False
    assert accepted is valid


IDENTIFIED = {"properties": {"id": {"type": "integer"}}, "required": ["id"]}
NOTED = {"properties": {"note": {"type": "string"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "$ref": "#/$defs/A", **NOTED, "$defs": {"A": IDENTIFIED}},
        {"type": "object", "allOf": [IDENTIFIED, {"$ref": "#/$defs/A"}], "$defs": {"A": NOTED}},
        {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {"allOf": [NOTED, IDENTIFIED, {"$ref": "#/$defs/A"}]}}},
    ],
)
def test_a_signature_has_the_properties_of_references_and_parts(schema: dict[str, Any]) -> None:
    tool = tool_of("server", "tool", McpTool(name="tool", input_schema=schema))
    assert str(tool.signature) == "(id: int, note: Optional[str] = None) -> str"
    assert keyed_arguments(tool.arguments, [3, None]) == {"id": 3}


def _fitting(schema: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values that are likely to fit a schema."""
    if not isinstance(schema, dict):
        return VALUES
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    if several := schema.get("anyOf", schema.get("oneOf")):
        return st.one_of([_fitting(each) for each in several])
    if schema.get("type") == "array":
        return st.lists(_fitting(schema["items"]), max_size=2)
    if schema.get("type") == "object":
        return st.fixed_dictionaries({name: _fitting(each) for name, each in schema["properties"].items()})
    kinds = {"integer": NUMBERS, "number": NUMBERS | FLOATS, "string": TEXTS, "boolean": st.booleans()}
    kind = schema.get("type")
    return kinds.get(kind, VALUES) if isinstance(kind, str) else NUMBERS


@pytest.mark.parametrize(
    "looping",
    [
        {"anyOf": [{"$ref": "#/$defs/A"}] * 400},
        {"allOf": [{"$ref": "#/$defs/A"}] * 400},
        {"type": "object", "properties": {f"p{number}": {"$ref": "#/$defs/A"} for number in range(400)}},
    ],
)
def test_a_schema_that_refers_to_itself_many_times_is_read_at_once(looping: dict[str, Any]) -> None:
    schema = {"$defs": {"A": looping}, "allOf": [{"$ref": "#/$defs/A"}], "properties": {"x": {"$ref": "#/$defs/A"}}}
    began = time.process_time()
    merged = with_merged_properties(schema, schema)
    arguments = arguments_of_schema(merged, lambda inner, value: True)
    parameter_docs(arguments, merged)
    assert time.process_time() - began < 2, "without a memory of references, it takes minutes"
    assert "x" in {argument.key for argument in arguments}


def test_many_names_without_letters_are_numbered_at_once() -> None:
    keys = [f"{'!' * (number % 71)}{'?' * (number // 71)}" for number in range(5_000)]
    began = time.process_time()
    arguments = arguments_of_schema({"properties": {key: {} for key in keys}}, lambda inner, value: True)
    assert time.process_time() - began < 2
    assert [argument.name for argument in arguments] == [
        "unnamed",
        *(f"unnamed_{n}" for n in range(2, len(arguments) + 1)),
    ]


def test_a_name_gets_a_number_that_is_not_used() -> None:
    assert python_name("a", ["a", "a_2"]) == "a_3"
    for used in (["a", "a_2", "a_4"], {"a", "a_2", "a_3", "a_4", "a_8"}):
        assert python_name("a", used) not in used


def test_references_are_described_in_place() -> None:
    schema = {"$defs": {"A": {"type": "integer"}}, "type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}}
    assert describe_schema(schema, schema) == '{"x"?: integer}'
