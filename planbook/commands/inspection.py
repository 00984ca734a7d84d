"""The commands `envs`, `planners` and `bench`, which list environments and planning methods, and run benchmarks."""

import dataclasses
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel
from rich.table import Column, Table

from planbook import errors
from planbook.commands.click_options import JSON, Command, CommandResult, options
from planbook.console import console
from planbook.envs import ActionSpec, Environment, MissingRequirement, known_environments, load_environment
from planbook.manuals import ProcedureLibrary
from planbook.options import option_facts, options_table
from planbook.planner import AGENT, METHODS, Method, UnknownStrategy, method, registered_methods
from planbook.sandbox import Sandbox
from planbook.settings import Settings
from planbook.wording import counted

BENCHMARKS = ("envs", "prompts", "report", "sandbox", "scale", "selector", "start", "stream", "tools")
"""Names of the benchmarks in ``tools/bench``."""
CLONE = Path(__file__).parents[2]
"""The repository's folder, if planbook runs from a clone."""


@click.command(cls=Command)
@click.argument("benchmark", type=click.Choice(BENCHMARKS))
@JSON
def bench(benchmark: str) -> CommandResult:
    """Measure the speed of planbook and of installed peers. The benchmarks come with a clone of the repository."""
    if not (CLONE / "tools" / "bench").is_dir():
        raise MissingRequirement(
            "the benchmarks are in tools/bench of planbook's repository, and this installation does not have them: "
            "clone the repository and run them there with `make bench` or `planbook bench`"
        )
    if str(CLONE) not in sys.path:
        sys.path.append(str(CLONE))
    measure: Callable[[str], CommandResult] = import_module("tools.bench").show
    return measure(benchmark)


@click.command(cls=Command)
@click.option(
    "--env",
    "env",
    default=None,
    help="Show only this environment: a name, FILE.py:Class, or tools as module:FILE.py, gym:ID or mcp:COMMAND.",
)
@options("env_options")
@JSON
def envs(env: str | None, settings: Settings) -> CommandResult:
    """List environments with task types and requirements, and the mechanisms that the kernel grants the sandbox."""
    if settings.env_options and not env:
        raise errors.BadArgument("--option belongs to one environment; name it with --env")
    chosen_options = settings.model_copy(update={"env": env}).environment_options() if settings.env_options else None
    environments = [load_environment(name) for name in ([env] if env else sorted(known_environments()))]
    with Sandbox(unsafe_no_sandbox=True) as sandbox:  # no plan runs; a missing mechanism must be listed, not raised
        mechanisms = list(sandbox.mechanisms().values())
    out = console()
    for environment in environments:
        out.print(_environment_table(environment, chosen_options))
        if env:
            if environment.Options.model_fields:
                out.print(options_table(environment.Options, "--option"))
            out.print(_action_table(environment))
    table = _facts_table("sandbox")
    for mechanism in mechanisms:
        missing = "required, but not granted" if mechanism.required else "not granted"
        table.add_row(mechanism.name, "granted" if mechanism.granted else f"{missing}: {mechanism.reason}")
    out.print(table)
    return errors.OK, {
        "worlds": {environment.name: _environment_facts(environment, chosen_options) for environment in environments},
        "sandbox": [dataclasses.asdict(mechanism) for mechanism in mechanisms],
    }


def _facts_table(title: str, style: str = "", *, show_lines: bool = False) -> Table:
    """Return an empty table with a column for names, in the given style, and one for texts. Long texts are wrapped."""
    names, texts = Column(style=style, overflow="fold"), Column(overflow="fold")
    return Table(names, texts, title=title, title_justify="left", show_header=False, show_lines=show_lines)


def _environment_table(environment: type[Environment], options: BaseModel | None) -> Table:
    table = _facts_table(environment.name, style="bold")
    types, procedure_count = environment.types, len(ProcedureLibrary(environment).files)
    rows = {
        "splits": ", ".join(environment.task_splits(options)),
        "task types": ", ".join(environment.task_types(options)) or "those of its task file (-o tasks=FILE)",
        "actions": ", ".join(map(_describe_call, environment.actions.values())),
        "queries": ", ".join(map(_describe_call, environment.queries.values())),
        "attributes": ", ".join(environment.attributes),
        "options": ", ".join(environment.Options.model_fields),
        "rewinding": environment.restore_caveat,
        "procedures": f"for {procedure_count} of {counted(len(types), 'task type')}" if types else "",
    }
    for name, text in rows.items():
        if text:
            table.add_row(name, text)
    for requirement in environment.requirements():
        state = requirement.found or f"missing: {requirement.remedy}"
        table.add_row(requirement.name, state, style="" if requirement.found else "yellow")
    return table


def _action_table(environment: type[Environment]) -> Table:
    table = _facts_table("what a plan may call", show_lines=True)
    for spec in (*environment.actions.values(), *environment.queries.values()):
        parameters = ", ".join(map(str, spec.signature.parameters.values()))
        table.add_row(f"{AGENT}.{spec.name}({parameters})", f"{_plain(spec.doc)}\n{spec.example}".strip())
    for name, doc in environment.attributes.items():
        table.add_row(f"{AGENT}.{name}", _plain(doc))
    return table


def _plain(doc: str) -> str:
    """Return a docstring without the double backticks around names."""
    return re.sub(r"(?<!`)``([^`]+)``(?!`)", r"\1", doc)


def _describe_call(spec: ActionSpec) -> str:
    return f"{spec.name}({', '.join(spec.signature.parameters)})"


def _environment_facts(environment: type[Environment], options: BaseModel | None) -> dict[str, object]:
    return {
        "splits": environment.task_splits(options),
        "types": environment.task_types(options),
        "actions": sorted(environment.actions),
        "options": option_facts(environment.Options),
        "requirements": [dataclasses.asdict(requirement) for requirement in environment.requirements()],
    }


SOMETIMES = "sometimes"
"""Marks the roles that a method asks only in some environments, or with some options."""


@click.command(cls=Command)
@click.argument("name", required=False)
@JSON
def planners(name: str | None) -> CommandResult:
    """List the planning methods, or show one with its options."""
    methods, unusable = ({name: method(name)}, {}) if name else _all_methods()
    out = console()
    if not name:
        out.print(_methods_table(methods))
        for reason in unusable.values():
            out.print(reason, style="yellow")
        out.print(
            f"{SOMETIMES}: depending on the environment and the options. `planbook planners NAME` has the details."
        )
    else:
        out.print(_method_table(name, methods[name]))
        if methods[name].options.model_fields:
            out.print(options_table(methods[name].options, "--planner-option"))
    facts = {key: _method_facts(planning_method) for key, planning_method in methods.items()}
    return errors.OK, {"planners": facts, "unusable": unusable}


def _all_methods() -> tuple[dict[str, Method], dict[str, str]]:
    """Return the usable planning methods, and a dict that maps the others to the reasons why they cannot be used."""
    methods, unusable = {**METHODS}, dict[str, str]()
    for name, entry_point in registered_methods().items():
        if name in METHODS:
            reason = f"it is registered as {name!r}, the name of a shipped method"
            unusable[name] = f"{entry_point.value} is not used: {reason}"
            continue
        try:
            methods[name] = method(name)
        except UnknownStrategy as error:
            unusable[name] = str(error)
    return methods, unusable


def _methods_table(methods: Mapping[str, Method]) -> Table:
    columns = (Column("name", no_wrap=True), Column("what it does", overflow="fold"), Column("roles it asks"))
    table = Table(*columns, title="planning methods", title_justify="left")
    for name, planning_method in methods.items():
        table.add_row(name, planning_method.summary, _roles(planning_method))
    return table


def _method_table(name: str, planning_method: Method) -> Table:
    table = _facts_table(name)
    table.add_row("what it does", planning_method.summary)
    table.add_row("roles it asks", _roles(planning_method))
    return table


def _roles(planning_method: Method) -> str:
    conditional = planning_method.conditional_roles
    roles = (f"{role} ({SOMETIMES})" if role in conditional else role for role in planning_method.roles)
    return ", ".join(roles) or "none"


def _method_facts(planning_method: Method) -> dict[str, Any]:
    return {
        "summary": planning_method.summary,
        "roles": planning_method.roles,
        "asked_sometimes": sorted(planning_method.conditional_roles),
        "options": option_facts(planning_method.options),
        "demonstrations": planning_method.demonstrations,
    }
