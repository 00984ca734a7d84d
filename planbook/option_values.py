"""Options as data: how a field of a model is an option, how its values are written, and NAME=VALUE texts.

A model's fields are options of the command line where they are declared with ``option``; options of planners and
environments are fields of their own models, given as NAME=VALUE. Both are validated and described here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, to_jsonable_python
from rich.table import Table

from planbook.errors import BadArgument
from planbook.sandbox import nearest_names

Validated = TypeVar("Validated", bound=BaseModel)

NULL = "null"
"""How None is written on the command line."""
NAMES: Mapping[object, str] = {NoneType: NULL, str: "text", int: "number", float: "number", Path: "path"}
SHAPES: Mapping[object, str] = {list: "[{}, ...]", tuple: "[{}, ...]", dict: "{{{}: {}, ...}}"}
"""How a value of several is written, which is JSON, by its type."""
BOUNDS = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
WITHOUT_VALUE = {"extra_forbidden": "there is no such option", "missing": "this has to be given"}
"""Errors that are not about a value, by the validator's kind of error."""
IN_JSON = {
    "tuple_type": """{flag} '{name}=["ONE", "TWO"]'""",
    "list_type": """{flag} '{name}=["ONE", "TWO"]'""",
    "dict_type": """{flag} '{name}={{"NAME": "VALUE"}}'""",
}
"""How a value of several is written, by the validator's kind of error."""


# The fields of a model as options of the command line


@dataclass(frozen=True)
class Option:
    """Marks a field as an option. ``many`` may be given several times; ``on_resume`` may change when a run goes on."""

    group: str
    flag: str = ""
    short: str = ""
    metavar: str = ""
    many: bool = False
    on_resume: bool = False


def option(default: Any, text: str, how: Option, **constraints: Any) -> Any:
    """Return a field of a model that is an option of the command line; ``text`` is its help."""
    field: FieldInfo = Field(default=default, description=text, **constraints)
    field.metadata.append(how)
    return field


def option_of(name: str, field: FieldInfo) -> Option | None:
    """Return how a field is given on the command line, with its flag; None if it cannot be."""
    how = next((each for each in field.metadata if isinstance(each, Option)), None)
    return how and Option(**{**vars(how), "flag": how.flag or f"--{name.replace('_', '-')}"})


# NAME=VALUE


def pairs(values: str | Iterable[str] | Mapping[str, Any], flag: str) -> dict[str, Any]:
    """Read NAME=VALUE texts; a value that reads as JSON is taken as such, anything else as a string.

    A mapping is returned as it is. Raises BadArgument.
    """
    if isinstance(values, Mapping):
        return dict(values)
    parsed: dict[str, Any] = {}
    for text in [values] if isinstance(values, str) else values:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise BadArgument(f"{flag} {text}: write NAME=VALUE")
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            parsed[name] = value
    return parsed


def validated(model: type[Validated], values: Mapping[str, Any], flag: str = "") -> Validated:
    """Return the values as the model has them, defaults included. Raises BadArgument, which says all that is wrong.

    ``flag`` is the option that takes the values as NAME=VALUE; without it, each field is an option of its own.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(dict.fromkeys(_said(model, list(each["loc"]), each, flag) for each in error.errors()))
        if flag:
            wrong = f"{flag}: {with_known(wrong, model)}"
        raise BadArgument(wrong) from error


def with_known(wrong: str, model: type[BaseModel]) -> str:
    """Add to what is wrong the options that exist, unless it lists them."""
    known = ", ".join(model.model_fields) or "none"
    return wrong if known in wrong else f"{wrong.rstrip('?')}. Options: {known}"


def _said(model: type[BaseModel], loc: list[str | int], error: ErrorDetails, flag: str) -> str:
    """Say what is wrong with one option, and what to write instead."""
    field = model.model_fields.get(str(loc[0])) if loc else None
    how = option_of(str(loc[0]), field) if field else None
    if field and how and (inner := _model_in(field.annotation)):
        below = loc[2:] if get_origin(field.annotation) is dict else loc[1:]
        return f"{how.flag}: {with_known(_said(inner, below, error, how.flag), inner)}"
    name = how.flag if how else ".".join(map(str, loc))
    if error["type"] == "value_error":  # words of our own
        return f"{name}: {error['ctx']['error']}" if name else str(error["ctx"]["error"])
    if error["type"] in WITHOUT_VALUE:
        near = nearest_names(name, model.model_fields) if error["type"] == "extra_forbidden" else ()
        return f"{name}: {WITHOUT_VALUE[error['type']]}{f'; did you mean {near[0]}?' if near else ''}"
    if field is None:
        return f"{name}: {error['msg']}"
    given = json.dumps(error["input"], ensure_ascii=False, default=str)
    if how:
        given = str(error["input"])
    takes = f"{name}: {given} does not fit; it takes {values_of(field)}"
    example = IN_JSON.get(error["type"])
    return f"{takes}, so write {example.format(flag=flag, name=name)}" if example and flag else takes


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a field's values are, or that each of them is in a mapping."""
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, BaseModel):
            return part
    return None


# What an option takes, in words


def options_table(options: type[BaseModel], flag: str) -> Table:
    """Return the options as a table; it has no row where there are none."""
    table = Table(title=f"options ({flag} NAME=VALUE)", title_justify="left", show_lines=True)
    for column in ("name", "value", "default", "what it means"):
        table.add_column(column, no_wrap=column == "name")
    for name, field in options.model_fields.items():
        default = "must be given" if field.is_required() else json.dumps(default_of(field), ensure_ascii=False)
        table.add_row(name, values_of(field), default, field.description or "")
    return table


def option_facts(options: type[BaseModel]) -> dict[str, JsonValue]:
    """Return the same for ``--json``."""
    return {name: _facts(field) for name, field in options.model_fields.items()}


def _facts(field: FieldInfo) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {"values": values_of(field), "description": field.description}
    return facts if field.is_required() else {**facts, "default": default_of(field)}


def default_of(field: FieldInfo) -> JsonValue:
    """Return the default as JSON; None for a field that has none."""
    value: JsonValue = None if field.is_required() else to_jsonable_python(field.get_default(call_default_factory=True))
    return value


def values_of(field: FieldInfo) -> str:
    """Return the values that an option takes, as they are written on the command line."""
    kinds = list(_kinds(field.annotation))
    bounds = [
        f" {word} {getattr(bound, kind)}"
        for bound in field.metadata
        for kind, word in BOUNDS.items()
        if getattr(bound, kind, None) is not None
    ]
    bounded = ", ".join(kind for kind in kinds if kind != NULL) + "".join(bounds)
    return f"{bounded}, or {NULL}" if NULL in kinds else bounded


def _kinds(annotation: Any) -> Iterator[str]:
    """Yield the parts of a type."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        yield from map(str, parts)
    elif origin is Annotated:
        yield from _kinds(parts[0])
    elif origin in SHAPES:
        yield SHAPES[origin].format(*(", ".join(_kinds(part)) for part in parts))
    elif parts:
        for part in parts:
            yield from _kinds(part)
    elif annotation is bool:
        yield from ("true", "false")
    else:
        yield NAMES.get(annotation) or str(getattr(annotation, "__name__", annotation))
