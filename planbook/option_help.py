"""The options of a planner or a world, told to who has to set them: values, default and meaning."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python
from rich.table import Table

NULL = "null"
"""How None is written on the command line."""
NAMES: Mapping[object, str] = {NoneType: NULL, str: "text", int: "number", float: "number", Path: "path"}
SHAPES: Mapping[object, str] = {list: "[{}, ...]", tuple: "[{}, ...]", dict: "{{{}: {}, ...}}"}
"""How a value of several is written, which is JSON, by its type."""
BOUNDS = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}


def options_table(options: type[BaseModel], flag: str) -> Table:
    """The options as a table; it has no row where there are none."""
    table = Table(title=f"options ({flag} NAME=VALUE)", title_justify="left", show_lines=True)
    for column in ("name", "value", "default", "what it means"):
        table.add_column(column, no_wrap=column == "name")
    for option, field in options.model_fields.items():
        default = "must be given" if field.is_required() else json.dumps(default_of(field), ensure_ascii=False)
        table.add_row(option, values_of(field), default, field.description or "")
    return table


def option_facts(options: type[BaseModel]) -> dict[str, JsonValue]:
    """The same for ``--json``."""
    return {name: _facts(field) for name, field in options.model_fields.items()}


def _facts(field: FieldInfo) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"values": values_of(field), "description": field.description}
    return told if field.is_required() else {**told, "default": default_of(field)}


def default_of(field: FieldInfo) -> JsonValue:
    """The default as JSON; None for a field that has none."""
    told: JsonValue = None if field.is_required() else to_jsonable_python(field.get_default(call_default_factory=True))
    return told


def values_of(field: FieldInfo) -> str:
    """The values that an option takes, as they are written on the command line."""
    bounds = [
        f" {told} {getattr(bound, kind)}"
        for bound in field.metadata
        for kind, told in BOUNDS.items()
        if getattr(bound, kind, None) is not None
    ]
    kinds = _kinds(field.annotation)
    bounded = ", ".join(kind for kind in kinds if kind != NULL) + "".join(bounds)
    return f"{bounded}, or {NULL}" if NULL in kinds else bounded


def _kinds(annotation: Any) -> list[str]:
    """The parts of a type."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return list(map(str, parts))
    if origin is Annotated:
        return _kinds(parts[0])
    if origin in SHAPES:
        return [SHAPES[origin].format(*(", ".join(_kinds(part)) for part in parts))]
    if parts:
        return [name for part in parts for name in _kinds(part)]
    if annotation is bool:
        return ["true", "false"]
    return [NAMES.get(annotation) or str(getattr(annotation, "__name__", annotation))]
