"""Declare, validate and describe options. Each option is a field of a pydantic model.

A field that is declared with ``option`` has its own command-line option, such as ``--jobs``. The options of planners
and environments are the fields of their own models; users give them as NAME=VALUE, for example ``-o tasks=FILE``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, to_jsonable_python
from rich.table import Table

from planbook.errors import BadArgument
from planbook.sandbox import nearest_names

Validated = TypeVar("Validated", bound=BaseModel)

NULL = "null"
"""The text for None on the command line."""
TYPE_NAMES: Mapping[object, str] = {NoneType: NULL, str: "text", int: "number", float: "number", Path: "path"}
COLLECTION_FORMATS: Mapping[object, str] = {list: "[{}, ...]", tuple: "[{}, ...]", dict: "{{{}: {}, ...}}"}
"""Maps the types of collections to the JSON formats in which their values are written."""
BOUNDS = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
NAME_FAULTS = {"extra_forbidden": "there is no such option", "missing": "this option is required"}
"""Messages for the error types of pydantic that concern an option's name rather than its value."""
JSON_EXAMPLES = {
    "tuple_type": """{flag} '{name}=["ONE", "TWO"]'""",
    "list_type": """{flag} '{name}=["ONE", "TWO"]'""",
    "dict_type": """{flag} '{name}={{"NAME": "VALUE"}}'""",
}
"""Maps error types of pydantic to examples that show how to write the expected collection in JSON."""


# The fields of a model as options of the command line


@dataclass(frozen=True)
class Option:
    """Marks a field as a command-line option in the help's section ``group``.

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
    """Return the Option with which a field is marked, or None. An empty flag is replaced by one made of the name."""
    details = next((item for item in field.metadata if isinstance(item, Option)), None)
    return details and Option(**{**vars(details), "flag": details.flag or f"--{name.replace('_', '-')}"})


# NAME=VALUE


def pairs(values: str | Iterable[str] | Mapping[str, Any], flag: str) -> dict[str, Any]:
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
    return message if names in message else f"{message.rstrip('?')}. Options: {names}"


def _describe_fault(model: type[BaseModel], loc: list[str | int], error: ErrorDetails, flag: str) -> str:
    """Return a message that says what is wrong with one option, and what to write instead."""
    field = model.model_fields.get(str(loc[0])) if loc else None
    details = option_of(str(loc[0]), field) if field else None
    if field and details and (inner := _model_in(field.annotation)):
        inner_loc = loc[2:] if get_origin(field.annotation) is dict else loc[1:]
        return f"{details.flag}: {_append_option_names(_describe_fault(inner, inner_loc, error, details.flag), inner)}"
    is_union = field is not None and get_origin(field.annotation) in (Union, UnionType)
    name = details.flag if details else ".".join(map(str, loc[:1] if is_union else loc))
    if error["type"] == "value_error":  # raised by a validator of planbook
        return f"{name}: {error['ctx']['error']}" if name else str(error["ctx"]["error"])
    if error["type"] in NAME_FAULTS:
        near = nearest_names(name, model.model_fields) if error["type"] == "extra_forbidden" else ()
        return f"{name}: {NAME_FAULTS[error['type']]}{f'; did you mean {near[0]}?' if near else ''}"
    if not name and error["type"] in ("model_type", "dict_type"):
        return f"{error['input']} is not a valid value; write NAME=VALUE"
    if field is None:
        return f"{name}: {error['msg']}" if name else error["msg"]
    value = str(error["input"]) if details else json.dumps(error["input"], ensure_ascii=False, default=str)
    message = f"{name}: {value} is not a valid value; expected {describe_values(field)}"
    example = JSON_EXAMPLES.get(error["type"])
    return f"{message}; for example, {example.format(flag=flag, name=name)}" if example and flag else message


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
    for name, field in options.model_fields.items():
        default = "must be given" if field.is_required() else json.dumps(default_of(field), ensure_ascii=False)
        table.add_row(name, describe_values(field), default, field.description or "")
    return table


def option_facts(options: type[BaseModel]) -> dict[str, JsonValue]:
    """Return the contents of ``options_table`` as JSON, for ``--json``."""
    return {name: _facts(field) for name, field in options.model_fields.items()}


def _facts(field: FieldInfo) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {"values": describe_values(field), "description": field.description}
    return facts if field.is_required() else {**facts, "default": default_of(field)}


def default_of(field: FieldInfo) -> JsonValue:
    """Return the default value of a field, converted to JSON."""
    value: JsonValue = to_jsonable_python(field.get_default(call_default_factory=True))
    return value


def describe_values(field: FieldInfo) -> str:
    """Describe the values that an option takes, as they are written on the command line."""
    types = list(_describe_types(field.annotation))
    bounded = ", ".join(text for text in types if text != NULL) + _bounds(field.metadata)
    return f"{bounded}, or {NULL}" if NULL in types else bounded


def _bounds(metadata: Iterable[Any]) -> str:
    bounds = [bound for item in metadata for bound in getattr(item, "metadata", [item])]
    known = [(word, getattr(bound, name, None)) for bound in bounds for name, word in BOUNDS.items()]
    return "".join(f" {word} {value}" for word, value in known if value is not None)


def _describe_types(annotation: Any) -> Iterator[str]:
    """Yield a description of each alternative of a type, for example ``number`` and ``null`` for ``int | None``."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        yield from map(str, parts)
    elif origin is Annotated:
        *others, last = _describe_types(parts[0])
        yield from (*others, f"{last}{_bounds(parts[1:])}")
    elif origin in COLLECTION_FORMATS:
        yield COLLECTION_FORMATS[origin].format(*(", ".join(_describe_types(part)) for part in parts))
    elif parts:
        for part in parts:
            yield from _describe_types(part)
    elif annotation is bool:
        yield from ("true", "false")
    else:
        yield TYPE_NAMES.get(annotation) or str(getattr(annotation, "__name__", annotation))
