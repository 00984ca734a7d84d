"""Options of the command line, made of the fields of ``Settings``.

Neither pydantic-settings nor cyclopts has repeated NAME=VALUE options, so that either would add code to what is here.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from planbook.option_values import Option, option_of
from planbook.settings import Settings

PLAN_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
RUN_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
PRICES = click.option(
    "--prices", default=None, type=click.Path(path_type=Path, dir_okay=False), help="A price table of your own."
)
TABLE = click.option("--table", is_flag=True, help="Print the figures of the method's papers beside those of the run.")
JSON = click.option("--json", "as_json", is_flag=True, help="End standard output with one JSON object.")
METAVARS: Mapping[Any, str] = {int: "N", int | None: "N"}

Body = Callable[..., Any]


class SettingOption(click.Option):
    """An option of a field; ``group`` is the heading that it has in the help."""

    group = ""


class Command(click.Command):
    """A command whose help lists its options by subject."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those without a subject last."""
        shown = [option for option in self.get_params(ctx) if option.get_help_record(ctx)]
        grouped = [option for option in shown if isinstance(option, SettingOption)]
        for title, options in groupby(grouped, lambda option: option.group):
            _write(ctx, formatter, title, options)
        _write(ctx, formatter, "Output", (option for option in shown if option not in grouped))


def _write(ctx: click.Context, formatter: click.HelpFormatter, title: str, options: Iterator[click.Parameter]) -> None:
    with formatter.section(title):
        formatter.write_dl([record for option in options if (record := option.get_help_record(ctx))])


def options(*wanted: str, planner: str = "") -> Callable[[Body], Body]:
    """Add the options of the wanted groups and fields; what is given of them is passed on as ``settings``.

    ``planner`` is the one that plays unless another is given.
    """
    fields = [
        (name, field, how)
        for want in wanted
        for name, field in Settings.model_fields.items()
        if (how := option_of(name, field)) and want in (how.group, name)
    ]

    def add(body: Body) -> Body:
        @wraps(body)
        def called(**values: Any) -> Any:
            context = click.get_current_context()
            given = {name: values.pop(name) for name, _, _ in fields}
            default = click.core.ParameterSource.DEFAULT
            given = {name: each for name, each in given.items() if context.get_parameter_source(name) is not default}
            return body(settings=Settings.of(**given), **values)

        command: Body = called
        for name, field, how in reversed(fields):
            command = _option(name, field, how, planner)(command)
        return command

    return add


def _option(name: str, field: FieldInfo, how: Option, planner: str) -> Callable[[Body], Body]:
    flags = filter(None, (how.short, how.flag, name))
    text = field.description
    if field.annotation is bool:
        add = click.option(*flags, cls=SettingOption, is_flag=True, flag_value=not field.default, help=text)
    elif how.many:
        add = click.option(*flags, cls=SettingOption, multiple=True, metavar=how.metavar, help=text)
    else:
        default = planner if name == "planner" and planner else field.default
        shown = isinstance(default, int) or (isinstance(default, str) and bool(default))
        metavar = how.metavar or _metavar(field)
        add = click.option(
            *flags, cls=SettingOption, metavar=metavar, default=str(default) if shown else None, help=text
        )

    def grouped(body: Body) -> Body:
        body = add(body)
        body.__click_params__[-1].group = how.group  # type: ignore[attr-defined]
        return body

    return grouped


def _metavar(field: FieldInfo) -> str:
    choices = [
        choice
        for each in (field.annotation, *get_args(field.annotation))
        if get_origin(each) is Literal
        for choice in get_args(each)
    ]
    return f"[{'|'.join(choices)}]" if choices else METAVARS.get(field.annotation, "TEXT")
