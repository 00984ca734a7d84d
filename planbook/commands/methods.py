"""The planning methods, told to who has to choose one: what each asks, takes, and shows of the worlds."""

import json
from types import UnionType
from typing import Any, Literal, get_args, get_origin

import click
from pydantic import JsonValue
from pydantic.fields import FieldInfo
from rich.table import Table

from envs import known_worlds
from manuals import demonstrated
from planbook import errors
from planbook.printing import console
from planner import METHODS, Method, method

NULL = "null"
"""How None is written on the command line."""
NAMES = {type(None): NULL, str: "text", int: "number"}
SOMETIMES = "sometimes"
BOUNDS = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}


def show_planners(name: str | None, *, as_json: bool) -> int:
    """All methods; or one, with its options and demonstrations. Raises UnknownStrategy."""
    chosen = {name: method(name)} if name else METHODS
    out = console(as_json)
    if name is None:
        out.print(_methods_table())
        out.print(f"{SOMETIMES}: where the world and the options are such. `planbook planners NAME` tells more of one.")
    else:
        for table in (_method_table(name), _options_table(name), _demonstrations_table(name)):
            if table.row_count:
                out.print(table)
    if as_json:
        click.echo(json.dumps({"planners": {each: _facts(strategy) for each, strategy in chosen.items()}}))
    return errors.OK


def _methods_table() -> Table:
    table = Table(title="planning methods", title_justify="left")
    for column in ("name", "what it does", "whom it asks"):
        table.add_column(column, no_wrap=column == "name")
    for name, strategy in METHODS.items():
        table.add_row(name, strategy.summary, _roles(strategy))
    return table


def _method_table(name: str) -> Table:
    table = Table(title=name, title_justify="left", show_header=False)
    table.add_row("what it does", METHODS[name].summary)
    table.add_row("whom it asks", _roles(METHODS[name]))
    return table


def _options_table(name: str) -> Table:
    table = Table(title="options (--planner-option NAME=VALUE)", title_justify="left", show_lines=True)
    for column in ("name", "value", "default", "what it means"):
        table.add_column(column, no_wrap=column == "name")
    for option, field in METHODS[name].options.model_fields.items():
        default = "must be given" if field.is_required() else json.dumps(field.default)
        table.add_row(option, values_of(field), default, field.description)
    return table


def _demonstrations_table(name: str) -> Table:
    table = Table(title="what it shows of the worlds", title_justify="left")
    for column in ("world", "demonstrations", "not there"):
        table.add_column(column)
    names = METHODS[name].demonstrations
    for world, there in _shown(METHODS[name]).items():
        table.add_row(world, ", ".join(there) or "none", ", ".join(each for each in names if each not in there))
    return table


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
    if get_origin(annotation) is Literal:
        return list(map(str, get_args(annotation)))
    if isinstance(annotation, UnionType) or get_args(annotation):
        return [name for part in get_args(annotation) for name in _kinds(part)]
    if annotation is bool:
        return ["true", "false"]
    return [NAMES.get(annotation, annotation.__name__)]


def _roles(strategy: Method) -> str:
    return (
        ", ".join(f"{role} ({SOMETIMES})" if role in strategy.sometimes else role for role in strategy.roles) or "none"
    )


def _shown(strategy: Method) -> dict[str, tuple[str, ...]]:
    """The demonstrations that ship, by world; empty for a method that shows none."""
    names = strategy.demonstrations
    return {world: demonstrated(world, names) for world in sorted(known_worlds())} if names else {}


def _facts(strategy: Method) -> dict[str, Any]:
    return {
        "summary": strategy.summary,
        "roles": strategy.roles,
        "asked_sometimes": sorted(strategy.sometimes),
        "options": {name: _option(field) for name, field in strategy.options.model_fields.items()},
        "demonstrations": strategy.demonstrations,
        "demonstrations_by_world": _shown(strategy),
    }


def _option(field: FieldInfo) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"values": values_of(field), "description": field.description}
    return told if field.is_required() else {**told, "default": field.default}
