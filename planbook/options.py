"""Declare, validate, describe and compare options. Each option is a field of a pydantic model.

A field that is declared with ``option`` has its own command-line option, such as ``--jobs``. The options of planners
and environments are the fields of their own models; users give them as NAME=VALUE, for example ``-o tasks=FILE``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, to_jsonable_python
from rich.table import Table

from planbook.errors import BadArgument
from planbook.sandbox import nearest_names

Validated = TypeVar("Validated", bound=BaseModel)

BOUNDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
"""Maps the names of bounds in a JSON Schema to words."""


# Fields as command-line options


@dataclass(frozen=True)
class Option:
    """Marks a field as a command-line option in the ``group`` section of the help.

    If ``many`` is true, the option may be given several times. If ``on_resume`` is true, its value may change when a
    run is resumed.
    """

    group: str
    flag: str = ""
    short: str = ""
    metavar: str = ""
    many: bool = False
    on_resume: bool = False


def option(default: Any, text: str, details: Option, **constraints: Any) -> Any:
    """Return a model field that is a command-line option; ``text`` is its help."""
    field: FieldInfo = Field(default=default, description=text, **constraints)
    field.metadata.append(details)
    return field


def option_of(name: str, field: FieldInfo) -> Option | None:
    """Return the Option that marks a field, or None. An Option without a flag gets one made from the field's name."""
    details = next((item for item in field.metadata if isinstance(item, Option)), None)
    return details and replace(details, flag=details.flag or f"--{name.replace('_', '-')}")


_FLAGS = {"limit": "--split NAME:N", "ids": "--task", "given": "--from"}
"""Maps settings that have no option to the options that determine them."""


def flag_of_setting(name: str, fields: Mapping[str, FieldInfo]) -> str:
    """Return the option that determines a setting of a run, given the dotted name, such as ``limits.wall_seconds``.

    ``fields`` maps names of settings to the fields that are options. The dotted name of a planning method's setting
    is returned unchanged, since commands set it through different options; so is ``learning``, which only `build` has.
    """
    field, _, part = name.removeprefix("selection.").removeprefix("learning.").partition(".")
    details = option_of(field, fields[field]) if field in fields else None
    flag = details.flag if details else _FLAGS.get(field, f"--{field.replace('_', '-')}")
    return name if field in ("planner_options", "learning") else f"{flag} {part}".strip()


# Values given as NAME=VALUE


def parse_pairs(values: str | Iterable[str] | Mapping[str, Any], flag: str) -> dict[str, Any]:
    """Parse strings of the form NAME=VALUE. A value that is valid JSON is decoded; any other value is kept as a string.

    If ``values`` is a mapping, it is only copied. Raises BadArgument if a string has no name or no equals sign.
    """
    if isinstance(values, Mapping):
        return dict(values)
    parsed: dict[str, Any] = {}
    for text in [values] if isinstance(values, str) else map(str, values):
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise BadArgument(f"{flag} {text}: write NAME=VALUE")
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            parsed[name] = value
    return parsed


def validate(model: type[Validated], values: Mapping[str, Any], flag: str = "") -> Validated:
    """Return the values as an instance of the model. Raises BadArgument with a message that lists every fault.

    ``flag`` is the option with which the user gave the values as NAME=VALUE. It is empty if each field has its own
    option.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = (_describe_fault(model, list(fault["loc"]), fault, flag) for fault in error.errors())
        message = "; ".join(dict.fromkeys(faults))
        raise BadArgument(f"{flag}: {_append_option_names(message, model)}" if flag else message) from error


def _append_option_names(message: str, model: type[BaseModel]) -> str:
    """Append the names of all options to a message, unless it already lists them."""
    names = ", ".join(model.model_fields) or "none"
    end = "" if message.endswith("?") else "."
    return message if names in message else f"{message}{end} Options: {names}"


def _describe_fault(model: type[BaseModel], loc: list[str | int], error: ErrorDetails, flag: str) -> str:
    """Return a message about one fault in the value of an option."""
    field = model.model_fields.get(str(loc[0])) if loc else None
    details = option_of(str(loc[0]), field) if field else None
    if field and details and (inner := _model_in(field.annotation)):
        inner_loc = loc[2:] if get_origin(field.annotation) is dict else loc[1:]
        return f"{details.flag}: {_append_option_names(_describe_fault(inner, inner_loc, error, details.flag), inner)}"
    name = details.flag if details else ".".join(map(str, loc))
    if error["type"] == "extra_forbidden":
        known = model.model_fields
        near = nearest_names(name, known) or [field for field in known if name and field.startswith(name)]
        return f"{name}: there is no such option{f'; did you mean {near[0]}?' if near else ''}"
    value = json.dumps(error["input"], ensure_ascii=False, default=str)
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", f"{value} must be")
    if error["type"] in ("tuple_type", "list_type", "dict_type"):
        message = f"{message}; write it in JSON"
    return f"{name}: {message}" if name else message


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the pydantic model in a type such as ``Model | None`` or ``dict[str, Model]``; None if there is none."""
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, BaseModel):
            return part
    return None


# Descriptions of options


def options_table(options: type[BaseModel], flag: str) -> Table:
    """Return a table with a row for each option."""
    table = Table(title=f"options ({flag} NAME=VALUE)", title_justify="left", show_lines=True)
    for column in ("name", "value", "default", "what it means"):
        table.add_column(column, no_wrap=column == "name", overflow="fold")
    for name, facts in option_facts(options).items():
        default = json.dumps(facts["default"], ensure_ascii=False) if "default" in facts else "must be given"
        table.add_row(name, facts["values"], default, facts["description"])
    return table


def option_facts(options: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """Return the contents of ``options_table`` as a dict, for ``--json``."""
    schema = options.model_json_schema(by_alias=False, schema_generator=_OptionsSchema)
    schemas = schema.get("properties", {})
    facts = {}
    for name, field in options.model_fields.items():
        values = describe_values(schemas[name], schema.get("$defs", {}))
        facts[name] = {"values": values, "description": field.description or ""}
        if not field.is_required():
            facts[name]["default"] = to_jsonable_python(field.get_default(call_default_factory=True))
    return facts


class _OptionsSchema(GenerateJsonSchema):
    """Generates the JSON Schema of options. A type that JSON Schema cannot express accepts any value."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        """Return a schema that accepts any value."""
        return {}


def describe_values(schema: Mapping[str, Any], definitions: Mapping[str, Any] = {}) -> str:
    """Describe the values that fit a JSON Schema, as they are written on the command line.

    The schema may refer to other schemas by name; ``definitions`` maps these names to the schemas.
    """
    if reference := schema.get("$ref"):
        return describe_values(definitions[reference.rpartition("/")[2]], definitions)
    if alternatives := schema.get("anyOf"):
        return " or ".join(describe_values(alternative, definitions) for alternative in alternatives)
    if choices := schema.get("enum"):
        return ", ".join(map(str, choices))
    kind = schema.get("format") or schema.get("type", "any value")
    if kind == "array":
        return f"[{describe_values(schema.get('items', {}), definitions)}, ...]"
    if kind == "object":
        return '{"NAME": value, ...}'
    bounds = "".join(f" {word} {schema[bound]}" for bound, word in BOUNDS.items() if bound in schema)
    return f"{kind}{bounds}"


# Nested settings


def flatten_settings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield nested settings as pairs of a dotted name and a string. Empty collections and None are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flatten_settings(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        if value:
            yield name, ", ".join(map(str, value))
    elif value is not None:
        yield name, str(value)


def differing_parts(first: Any, second: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts in which two nested values differ: a dotted name, such as ``selection.seeds``, and both values.

    A part that is missing has the value None. Lists of mappings are compared item by item, as in ``rounds.0.number``;
    any other list counts as one part.
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        parts = {key: (first.get(key), second.get(key)) for key in {**first, **second}}
    elif _are_mappings(first) and _are_mappings(second) and len(first) == len(second):
        parts = dict(enumerate(zip(first, second, strict=True)))
    else:
        yield from [(name, first, second)] if first != second else []
        return
    for key, (left, right) in parts.items():
        yield from differing_parts(left, right, f"{name}.{key}" if name else str(key))


def _are_mappings(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)
