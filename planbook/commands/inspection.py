"""The commands that run nothing: `planbook envs` and the checks of a plan."""

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

import click
from rich.table import Table

from planbook import errors
from planbook.commands.executing import read_plan
from planbook.console import console
from planbook.envs import (
    ActionSpec,
    Environment,
    MissingRequirement,
    Selection,
    Task,
    known_environments,
    load_environment,
)
from planbook.manuals import ProcedureLibrary
from planbook.option_values import option_facts, options_table
from planbook.planner import AGENT, TASK, functions_to_check, is_procedure, parse_procedure, plan_attributes
from planbook.sandbox import DryRun, Fault, Sandbox, bound_names, check, check_procedure
from planbook.settings import Settings
from planbook.terminal.printing import answer
from planbook.wording import counted

BENCHMARKS = ("envs", "prompts", "report", "sandbox", "scale", "selector", "start", "stream", "tools")
"""What ``tools/bench`` measures."""
CLONE = Path(__file__).parents[2]


def show_benchmark(part: str, *, as_json: bool) -> int:
    """Run a benchmark and print its figures. Raises MissingRequirement outside a clone of planbook."""
    if not (CLONE / "tools" / "bench").is_dir():
        raise MissingRequirement(
            "the benchmarks are in tools/bench of planbook's repository, and this planbook is installed without them: "
            "clone the repository and run them there with `make bench` or `planbook bench`"
        )
    if str(CLONE) not in sys.path:
        sys.path.append(str(CLONE))
    measure: Callable[..., int] = import_module("tools.bench").show
    return measure(part, as_json=as_json)


def show_worlds(env: str | None, *, as_json: bool) -> int:
    """Print environments with splits, task types and requirements, and the sandbox's mechanisms."""
    worlds = [load_environment(name) for name in ([env] if env else sorted(known_environments()))]
    with Sandbox(unsafe_no_sandbox=True) as sandbox:  # it runs no plan: what is missing is to be shown
        mechanisms = list(sandbox.mechanisms().values())
    out = console(as_json)
    for world in worlds:
        out.print(_world_table(world))
        if env:
            if world.Options.model_fields:
                out.print(options_table(world.Options, "--option"))
            out.print(_action_table(world))
    held = Table(title="sandbox", title_justify="left", show_header=False)
    for mechanism in mechanisms:
        missing = "required, and not granted" if mechanism.required else "not granted"
        held.add_row(mechanism.name, "granted" if mechanism.granted else f"{missing}: {mechanism.reason}")
    out.print(held)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "worlds": {world.name: _facts(world) for world in worlds},
                    "sandbox": [dataclasses.asdict(each) for each in mechanisms],
                }
            )
        )
    return errors.OK


def _world_table(world: type[Environment]) -> Table:
    table = Table(title=world.name, title_justify="left", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    procedures = ProcedureLibrary(world).files
    table.add_row("splits", ", ".join(world.splits))
    table.add_row(counted(len(world.types), "task type"), ", ".join(world.types))
    table.add_row("actions", ", ".join(map(_call, world.actions.values())))
    if world.queries:
        table.add_row("queries", ", ".join(map(_call, world.queries.values())))
    if world.attributes:
        table.add_row("attributes", ", ".join(world.attributes))
    if options := world.Options.model_fields:
        table.add_row("options", ", ".join(options))
    if world.restores:
        table.add_row("turning back", world.restores)
    table.add_row("procedures", f"for {len(procedures)} of {counted(len(world.types), 'task type')}")
    for each in world.requirements():
        table.add_row(each.name, each.found or f"missing: {each.remedy}", style="" if each.found else "yellow")
    return table


def _action_table(world: type[Environment]) -> Table:
    table = Table(title="what a plan may call", title_justify="left", show_header=False, show_lines=True)
    for spec in (*world.actions.values(), *world.queries.values()):
        parameters = ", ".join(map(str, spec.signature.parameters.values()))
        table.add_row(f"{AGENT}.{spec.name}({parameters})", f"{spec.doc}\n{spec.example}".strip())
    for name, doc in world.attributes.items():
        table.add_row(f"{AGENT}.{name}", doc)
    return table


def _call(spec: ActionSpec) -> str:
    return f"{spec.name}({', '.join(spec.signature.parameters)})"


def _facts(world: type[Environment]) -> dict[str, object]:
    return {
        "splits": world.splits,
        "types": world.types,
        "actions": sorted(world.actions),
        "options": option_facts(world.Options),
        "requirements": [dataclasses.asdict(each) for each in world.requirements()],
    }


def check_plan(plan: Path, settings: Settings) -> list[Fault]:
    """Return every fault of a plan file or a procedure. Raises BadSelection for a task that does not exist."""
    world, options = settings.world(), settings.world_options()
    if settings.tasks:
        world.select(Selection(ids=settings.tasks), options)
    text = read_plan(plan)
    functions, attributes = functions_to_check(world, options), plan_attributes(world)
    names = bound_names(world.helpers)
    if not is_procedure(text):
        return check(text, functions, attributes=attributes, names=names | {TASK}, modules=world.modules)
    procedure = parse_procedure(text, plan.name, plan.resolve().parent.parent / "helpers")
    names |= bound_names(procedure.helpers)
    return check_procedure(text, functions, attributes=attributes, names=names, modules=world.modules)


def show_faults(
    plan: Path, faults: list[Fault], *, as_json: bool, more: Mapping[str, object] = MappingProxyType({})
) -> int:
    """Print the faults with their lines, and their number; ``more`` is added to the JSON."""
    out = console(as_json)
    for fault in faults:
        told = str(fault).removeprefix(f"line {fault.line}: ")
        out.print(f"{plan}:{fault.line or 1}: {told}", markup=False, soft_wrap=True)
    out.print(f"{plan}: {f'{len(faults)} faults' if len(faults) > 1 else '1 fault' if faults else 'no faults'}")
    answered = {"plan": str(plan), "faults": [dataclasses.asdict(fault) for fault in faults], **more}
    return answer(errors.BAD_INPUT if faults else errors.OK, answered, as_json=as_json)


def show_checked(plan: Path, faults: list[Fault], runs: list[tuple[Task, DryRun | None]], *, as_json: bool) -> int:
    """Print the faults of the plan and of its dry runs, each once, and the result of each dry run."""
    found = {fault: None for _, run in runs if run for fault in run.faults}
    out = console(as_json)
    for task, run in runs:
        out.print(f"{plan}: dry run on {task.id}: {_told(task, run)}", markup=False, soft_wrap=True)
    told = [{"task": task.id, **(dataclasses.asdict(run) if run else {"declared": False})} for task, run in runs]
    more = {"dry_runs": told} if runs else {}
    return show_faults(plan, [*faults, *found], as_json=as_json, more=more)


def _told(task: Task, run: DryRun | None) -> str:
    if run is None:
        return f"{task.env} declares no preconditions of its actions"
    if not run.followed:
        return "the plan has too many paths to follow; none was examined"
    failing = len({(fault.line, fault.column) for fault in run.faults}) or "none"
    told = f"{run.calls} of {run.calls + run.unfollowed} calls followed, {failing} certain to fail"
    unfollowed = "never reached, or made in a way that is not followed (in a method, by map, by getattr)"
    return f"{told}; {run.unfollowed} not followed: {unfollowed}" if run.unfollowed else told
