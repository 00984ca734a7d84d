"""The commands `check`, `check-env` and `exec`, which check and run the user's own files."""

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import closing
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from planbook import errors
from planbook.commands.click_options import EXISTING_FILE, JSON, SELECTION, Command, CommandResult, options
from planbook.commands.playing import play_settings
from planbook.config import UNTYPED
from planbook.console import ERRORS, console
from planbook.envs import (
    BadSelection,
    Beliefs,
    CheckReport,
    Environment,
    Preconditions,
    Selection,
    Task,
    UnknownEnvironment,
    check_environment,
)
from planbook.manuals import TYPES_FILE, module_procedures
from planbook.planner import (
    TASK,
    GivenCode,
    KnownState,
    Procedure,
    checked_procedure,
    code_of,
    functions_to_check,
    is_procedure,
    parse_procedure,
    plan_attributes,
    plan_task,
)
from planbook.sandbox import DryRun, Fault, FaultKind, bound_names, check, check_procedure, did_you_mean, dry_run
from planbook.settings import Settings
from planbook.terminal import EventPrinter
from planbook.wording import counted


@click.command(name="check-env")
@click.argument("env", metavar="FILE.py[:Class]")
@options("env_options")
@JSON
def check_env(env: str, settings: Settings) -> CommandResult:
    """Check your own environment: play random actions on a few tasks of each split, and list every mistake."""
    settings = settings.model_copy(update={"env": env})
    try:
        with ERRORS.status(f"Playing random actions in {env}"):  # shown only on a terminal
            report = check_environment(settings.environment(), settings.environment_options())
    except (BadSelection, UnknownEnvironment) as error:  # BadSelection lists the faults of a task file, one per line
        report = CheckReport(tuple(str(error).splitlines()), {}, 0, 0, 0)
    out, mistakes = console(), report.mistakes
    lines = [*mistakes, *(f"not checked: split {split}: {reason}" for split, reason in report.unchecked.items())]
    total = counted(len(mistakes), "mistake") if mistakes else "no mistakes"
    tried = f"{counted(report.actions, 'action')} on {counted(report.tasks, 'task')}"
    if report.actions and not report.accepted and not mistakes:
        tried += ". All were refused, so no effects were checked: write examples with arguments that are accepted"
    for line in (*lines, f"{env}: {total}; tried: {tried}"):
        out.print(line)
    return errors.BAD_INPUT if mistakes else errors.OK, {"env": env, **report._asdict()}


@click.command("check", cls=Command)
@click.argument("plan", type=EXISTING_FILE)
@options("Environment", "tasks")
@JSON
def check_command(plan: Path, settings: Settings) -> CommandResult:
    """Check a plan file or a procedure without running it, and list every fault with its line.

    With --task, a plan without such faults is also dry-run on that task: its calls are examined as far as possible
    without acting. Actions that are certain to fail are reported, if the environment declares their preconditions.

    The code that you name with --env is imported, and so are the Python judges of its task file if --task is given.
    """
    faults = [*check_plan(plan, settings), *unknown_type_faults(plan, settings)]
    reports = [] if faults else list(dry_runs(plan, settings))
    return print_check(plan, faults, reports)


@click.command("exec", cls=Command)
@click.argument("plan", type=EXISTING_FILE)
@options(*SELECTION, "Running")
@click.option("--strict", is_flag=True, help="Exit with 1 unless every task was solved.")
@JSON
def execute(plan: Path, settings: Settings, strict: bool) -> CommandResult:
    """Run one plan file, or one procedure, on the selected tasks.

    The steps are printed as they happen, if episodes are played one at a time in this process.
    """
    if faults := check_plan(plan, settings):
        return print_check(plan, faults)
    one_at_a_time = settings.jobs == 1 and settings.executor == "threads"
    options = plan_code(plan, settings).model_dump(mode="json")
    printer = EventPrinter(console()) if one_at_a_time else None
    code, summary = play_settings(settings, "code", options, on_event=printer)
    if strict and summary.solved < summary.tasks:
        code = code or errors.BROKEN
    return code, summary


def dry_runs(plan: Path, settings: Settings) -> Iterator[tuple[Task, DryRun | None]]:
    """Yield each selected task with the report of a dry run, which examines the plan's calls without taking actions.

    The report is None if the environment declares no preconditions for its actions.
    """
    environment, options = settings.environment(), settings.environment_options()
    for task in environment.select(Selection(ids=settings.tasks), options) if settings.tasks else ():
        preconditions = environment.preconditions(task, options)
        yield task, _dry_run(plan, environment, options, task, preconditions) if preconditions else None


def _dry_run(
    plan: Path, environment: type[Environment], options: BaseModel | None, task: Task, preconditions: Preconditions
) -> DryRun:
    text, helpers = read_plan(plan), [environment.helpers]
    procedures = procedures_in(plan)
    if procedures:
        matching = (procedure for procedure in procedures if procedure.type == task.type)
        code = code_of(next(matching, procedures[0]))
        text, helpers = code.code, [*helpers, code.helpers]
    with closing(environment(options)) as instance:  # the task that plans see includes the first observation
        visible_task = plan_task(task, instance.reset(task))
    return dry_run(
        text,
        functions_to_check(environment, options),
        KnownState(preconditions, environment.offered(options).actions, Beliefs.at_start(preconditions)),
        attributes=plan_attributes(environment),
        values={TASK: visible_task},
        helpers=helpers,
    )


def plan_code(plan: Path, settings: Settings) -> GivenCode:
    """Return the code to run for a file: a plan as it is, or a procedure followed by a call to it.

    Raises BadArgument if the file cannot be read or holds several procedures, or BadProcedure if the check of the
    procedure finds a fault.
    """
    procedures = procedures_in(plan)
    if not procedures:
        return GivenCode(code=read_plan(plan), source=plan.name)
    if len(procedures) > 1:
        raise errors.BadArgument(
            f"{plan} holds {len(procedures)} procedures, but exec runs only one plan; to play each on the tasks of its "
            "type, use planbook run --library FOLDER, with the file in FOLDER/ENV/procedures"
        )
    return code_of(checked_procedure(procedures[0], settings.environment(), settings.environment_options()))


def procedures_in(plan: Path) -> list[Procedure]:
    """Return the procedures in a file: one if it defines ``solve``, all of a module of procedures, or else none."""
    text = read_plan(plan)
    if is_procedure(text):
        return [parse_procedure(text, plan.name, plan.resolve().parent.parent / "helpers")]
    return module_procedures(plan)


def read_plan(plan: Path) -> str:
    """Return the text of a plan file. Raises BadArgument if it cannot be read."""
    try:
        return plan.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadArgument(f"{plan} cannot be read as a plan: {error}") from error


def check_plan(plan: Path, settings: Settings) -> list[Fault]:
    """Return every fault in a file with a plan or procedures.

    Raises BadSelection if ``--task`` names a task that does not exist.
    """
    environment, options = settings.environment(), settings.environment_options()
    if settings.tasks:
        environment.select(Selection(ids=settings.tasks), options)
    text = read_plan(plan)
    functions, attributes = functions_to_check(environment, options), plan_attributes(environment)
    names = bound_names(environment.helpers)
    procedures = procedures_in(plan)
    if not procedures:
        return check(text, functions, attributes=attributes, names=names | {TASK}, modules=environment.modules)
    faults: list[Fault] = []
    for procedure in procedures:
        defined = names | bound_names(procedure.helpers)
        found = check_procedure(
            procedure.code, functions, attributes=attributes, names=defined, modules=environment.modules
        )
        faults += [_move_to_file_line(fault, procedure.code, text) for fault in found]
    return faults


def unknown_type_faults(plan: Path, settings: Settings) -> Iterator[Fault]:
    """Yield a fault for each procedure with a task type that the environment does not have.

    Every type is accepted if the environment has no types, or if the library has types that planbook itself found.
    """
    types, lines = settings.environment().task_types(settings.environment_options()), read_plan(plan).splitlines()
    if set(types) <= UNTYPED or (plan.resolve().parent.parent / TYPES_FILE).exists():
        return
    for kind in (procedure.type for procedure in procedures_in(plan)):
        if kind not in types:
            headers = (line.replace(":", " ").split()[:2] for line in lines)
            type_line = next((number for number, header in enumerate(headers, 1) if header == ["type", kind]), None)
            message = f"{settings.env} has no task type {kind}{did_you_mean(kind, types, 'it has')}"
            yield Fault(FaultKind.CHECK, "unknown-type", message, type_line)


def _move_to_file_line(fault: Fault, code: str, text: str) -> Fault:
    """Return a procedure's fault with its line number in the file instead of in the procedure's code."""
    line = fault.line or 1
    blocks = SequenceMatcher(None, code.splitlines(), text.splitlines(), autojunk=False).get_matching_blocks()
    lines = (line - block.a + block.b for block in blocks if block.a < line <= block.a + block.size)
    return dataclasses.replace(fault, line=next(lines, fault.line))


def print_check(plan: Path, faults: list[Fault], reports: Sequence[tuple[Task, DryRun | None]] = ()) -> CommandResult:
    """Print the report of each dry run, then every distinct fault. Return the exit code and the JSON output."""
    out = console()
    for task, report in reports:
        out.print(f"{plan}: dry run on {task.id}: {_describe_dry_run(task, report)}")
    distinct = dict.fromkeys([*faults, *(fault for _, report in reports if report for fault in report.faults)])
    for fault in distinct:
        message = str(fault).removeprefix(f"line {fault.line}: ")
        out.print(f"{plan}:{fault.line or 1}: {message}")
    out.print(f"{plan}: {counted(len(distinct), 'fault') if distinct else 'no faults'}")
    result: dict[str, Any] = {"plan": str(plan), "faults": [dataclasses.asdict(fault) for fault in distinct]}
    if reports:
        result["dry_runs"] = [
            {"task": task.id, **(dataclasses.asdict(report) if report else {"declared": False})}
            for task, report in reports
        ]
    return errors.BAD_INPUT if distinct else errors.OK, result


def _describe_dry_run(task: Task, report: DryRun | None) -> str:
    if report is None:
        return f"{task.env} declares no preconditions for its actions"
    failing = len({(fault.line, fault.column) for fault in report.faults})
    if not report.followed:
        return "the plan has too many paths, or code that a dry run cannot follow; no call was examined"
    return f"{report.calls} of {report.calls + report.unfollowed} calls followed, {counted(failing, 'certain failure')}"
