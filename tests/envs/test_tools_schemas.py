"""For random JSON Schemas, the signature of a tool accepts the same arguments as JSON Schema validation."""

import time
from contextlib import suppress
from typing import Annotated, Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from mcp.types import Tool as McpTool
from pydantic import Field

from planbook.envs.tools.environment import ToolFailed
from planbook.envs.tools.mcp_env import tool_of
from planbook.envs.tools.schemas import (
    arguments_of_function,
    arguments_of_schema,
    describe_schema,
    keyed_arguments,
    python_name,
    with_merged_properties,
)
from planbook.sandbox.functions import FunctionSpec
from tests.sandbox.fuzz.size import MEGABYTES, SECONDS, megabytes_of, seconds_of

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


PATTERN = r"^(\w+\s?)*$"
"""Python's regular expressions take time that doubles with each letter to refuse ALMOST."""
ALMOST = "a" * 25 + "!"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
OPERANDS = {"items": {"$ref": "#/$defs/F"}}
FILTERS = [{"properties": {"of": OPERANDS, "kind": {"const": kind}}} for kind in "abcde"]
FILTER: dict[str, Any] = {"of": [], "kind": "x"}
for _ in range(7):
    FILTER = {"of": [FILTER], "kind": "x"}
LONG: dict[str, tuple[dict[str, Any], object]] = {
    "a pattern": ({"type": "string", "pattern": PATTERN}, ALMOST),
    "patterns of names": ({"patternProperties": {PATTERN: {}}, "additionalProperties": False}, {ALMOST: 1}),
    "names that match a pattern": ({"propertyNames": {"pattern": PATTERN}}, {ALMOST: 1}),
    "a part in another draft": ({"anyOf": [{"$schema": DRAFT_7, "pattern": PATTERN}, {"minLength": 99}]}, ALMOST),
    "unevaluated names": ({"unevaluatedProperties": {"$ref": "#/$defs/P"}}, {ALMOST: 1}),
    "all items are different": ({"uniqueItems": True}, [{"a": number} for number in range(4_000)]),
    "filters in filters": ({"$ref": "#/$defs/F"}, FILTER),
    "wrong items": ({"anyOf": [{"items": {"minimum": 5}}, {"items": {"maximum": 0}}]}, [1] * 50_000),
    "long lists": ({"items": {"minimum": 0}}, [1] * 500_000),
}


@pytest.mark.parametrize("kind", LONG)
def test_arguments_are_checked_within_a_second(kind: str) -> None:
    part, value = LONG[kind]
    definitions = {"F": {"anyOf": FILTERS}, "P": {"patternProperties": {PATTERN: False}}}
    schema = {"type": "object", "properties": {"x": part}, "$defs": definitions}
    tool = tool_of("server", "tool", McpTool(name="tool", input_schema=schema))

    def check() -> None:
        with suppress(ToolFailed):
            tool.source.check({"x": value})

    assert seconds_of(check) < SECONDS or seconds_of(check) < SECONDS, "it was too slow twice"
    assert megabytes_of(check) < MEGABYTES


@pytest.mark.parametrize(
    "part",
    [
        {"not": {"pattern": "b"}},
        {"oneOf": [{"pattern": "a"}, {"pattern": "b"}]},
        {"if": {"pattern": "b"}, "then": False},
        {"anyOf": [{"not": {"oneOf": [{"pattern": "a"}, {"type": "string"}]}}, False]},
    ],
)
def test_what_depends_on_a_pattern_is_left_to_the_server(part: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"x": part, "n": {"oneOf": [{"minimum": 1}, {"maximum": 5}]}}}
    tool = tool_of("server", "tool", McpTool(name="tool", input_schema=schema))
    tool.source.check({"x": "a", "n": 0})
    with pytest.raises(ToolFailed, match=r"wrong arguments at \['n'\]"):
        tool.source.check({"x": "a", "n": 3})


def test_a_default_is_checked_within_a_second() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "default": ALMOST, "pattern": PATTERN}}}
    assert seconds_of(lambda: tool_of("server", "tool", McpTool(name="tool", input_schema=schema))) < SECONDS


def test_a_wrong_list_for_a_python_tool_takes_little_memory() -> None:
    def fill(levels: list[Annotated[int, Field(ge=5)]]) -> None: ...

    arguments = arguments_of_function(fill, method=False)

    def convert() -> None:
        with pytest.raises(ValueError, match="argument 'levels': 0: Input should be greater than or equal to 5"):
            keyed_arguments(arguments, [[1] * 500_000])

    assert megabytes_of(convert) < MEGABYTES


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
