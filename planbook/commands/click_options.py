"""Build click options from the fields of ``Settings``.

The libraries pydantic-settings and cyclopts were considered. Neither supports repeatable NAME=VALUE options, so either
would need more code than this module.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from planbook.console import json_output, print_json
from planbook.options import Option, option_of
from planbook.settings import Settings

EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
RUN_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
PRICES = click.option(
    "--prices", default=None, type=click.Path(path_type=Path, dir_okay=False), help="Your own price table."
)
TABLE = click.option("--table", is_flag=True, help="Compare the figures of the run with those of the method's papers.")
SELECTION = ("Environment", "Tasks", "Episodes")
PLAYING = (*SELECTION, "Library", "Planning", "Models", "Spending", "Running")
"""Option groups of the commands that play tasks."""

CommandFunction = Callable[..., Any]
CommandResult = tuple[int, BaseModel | Mapping[str, Any]]
"""The exit code of a command, and the result that ``--json`` prints."""


def JSON(function: Callable[..., CommandResult]) -> CommandFunction:  # noqa: N802 - named like PRICES and TABLE
    """Add ``--json`` to a command whose function returns an exit code and a result.

    With ``--json``, the result is printed to standard output when the function has returned.
    """

    @click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object, on the last line.")
    @wraps(function)
    def run(as_json: bool, **values: Any) -> int:
        with json_output() if as_json else nullcontext():
            code, result = function(**values)
        if as_json:
            print_json(result)
        return code

    return run


class SettingOption(click.Option):
    """A click option made from a field of ``Settings``. The help lists it under the heading ``group``."""

    def __init__(self, *names: Any, group: str, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.group = group


def _heading(option: click.Option) -> str:
    if isinstance(option, SettingOption):
        return option.group
    return "Output" if {"--table", "--json", "--help"} & {*option.opts} else "Options"


class Command(click.Command):
    """A command whose help lists options under headings: its own options first, and those about output last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each heading."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        options.sort(key=lambda option: {"Options": 0, "Output": 2}.get(_heading(option), 1))
        for heading, group in groupby(options, _heading):
            with formatter.section(heading):
                formatter.write_dl([record for option in group if (record := option.get_help_record(ctx))])


def options(*names: str, planner: str = "") -> Callable[[CommandFunction], CommandFunction]:
    """Return a decorator that adds options to a command. Each name is a group of options, or a single field.

    The command's function is called with ``settings``, which contains only the options that the user gave. The help
    shows ``planner`` as the default of ``--planner``.
    """
    fields = [
        (field_name, field, option)
        for name in names
        for field_name, field in Settings.model_fields.items()
        if (option := option_of(field_name, field)) and name in (option.group, field_name)
    ]

    def add(function: CommandFunction) -> CommandFunction:
        @wraps(function)
        def call_with_settings(**values: Any) -> Any:
            source, default = click.get_current_context().get_parameter_source, click.core.ParameterSource.DEFAULT
            chosen = {name: values.pop(name) for name, _, _ in fields}
            explicit = {name: value for name, value in chosen.items() if source(name) is not default}
            return function(settings=Settings.of(**explicit), **values)

        command: CommandFunction = call_with_settings
        for name, field, option in reversed(fields):
            command = _option(name, field, option, planner)(command)
        return command

    return add


def _option(name: str, field: FieldInfo, details: Option, planner: str) -> Callable[[CommandFunction], CommandFunction]:
    attributes: dict[str, Any] = {"group": details.group, "help": field.description}
    if field.annotation is bool:
        attributes |= {"is_flag": True, "flag_value": not field.default}
    elif details.many:
        attributes |= {"multiple": True, "metavar": details.metavar}
    else:
        default = planner if name == "planner" and planner else field.default
        is_stated = "default" in str(field.description)  # the help text already states the default
        shown = str(default) if isinstance(default, int | str) and default != "" and not is_stated else None
        attributes |= {"metavar": details.metavar or _metavar(field), "default": shown}
    return click.option(*filter(None, (details.short, details.flag, name)), cls=SettingOption, **attributes)


def _metavar(field: FieldInfo) -> str:
    choices = [
        choice
        for annotation in (field.annotation, *get_args(field.annotation))
        if get_origin(annotation) is Literal
        for choice in get_args(annotation)
    ]
    return f"[{'|'.join(choices)}]" if choices else "N" if field.annotation in (int, int | None) else "TEXT"
