"""The commands `export`, `import`, `skills` and `mcp`, which exchange data with other programs."""

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planbook import errors
from planbook.commands.click_options import EXISTING_FILE, JSON, RUN_FOLDER, Command, CommandResult, options
from planbook.commands.playing import play
from planbook.config import Config, split_names
from planbook.console import ERRORS, console, is_json_output, quiet
from planbook.envs import Task
from planbook.errors import BadArgument
from planbook.sandbox import Sandbox
from planbook.settings import Settings
from planbook.wording import counted, tally

if TYPE_CHECKING:
    from planbook.export.exporting import ExportResult
    from planbook.export.verification import VerifiedSkill

FORMATS = ("jsonl", "parquet", "chat")
FORMATS_BY_EXTENSION = {".jsonl": ("jsonl", "chat"), ".parquet": ("parquet",)}
"""Maps each file extension to the formats that a file with this extension may have. The first one is the default."""


@click.command()
@click.argument("runs", nargs=-1, type=RUN_FOLDER, metavar="RUN...")
@click.option(
    "--format",
    "form",
    default=None,
    show_default="from the extension of --out, otherwise jsonl",
    type=click.Choice(FORMATS),
    help="JSON Lines or Parquet, one episode per line or row; or conversations, in the format of fine-tuning tools.",
)
@click.option("--out", default=Path("-"), type=click.Path(path_type=Path), help="The file; - is standard output.")
@click.option("--solved", is_flag=True, help="Export solved episodes in full, and only the task and ending of others.")
@click.option("--all", "everything", is_flag=True, help="Also export BROKEN episodes in full.")
@click.option(
    "--roles",
    default="",
    show_default=False,
    metavar="ROLE,...",
    help="With --format chat: only the conversations of these roles.",
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a line, and export nothing.")
@JSON
def export(
    runs: tuple[Path, ...], form: str | None, out: Path, solved: bool, everything: bool, roles: str, schema: bool
) -> CommandResult:
    """Write the episodes of runs to one file, in a documented schema or as conversations."""
    from planbook.export.exporting import export as write_episodes

    if schema:
        return _print_schema()
    form = file_format(form, out)
    _check_options(runs, form, out, roles)
    exported = write_episodes(runs, form, out, solved=solved, everything=everything, roles=split_names(roles))
    ERRORS.print(_describe_export(exported))
    if roles and not exported.conversations:
        ERRORS.print(f"--roles {roles}: these episodes have no conversation in any of these roles", style="yellow")
    return errors.OK, exported


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=EXISTING_FILE, metavar="FILE...")
@click.option("--out", default=None, type=click.Path(path_type=Path), help="The folder of the new run.")
@JSON
def import_command(files: tuple[Path, ...], out: Path | None) -> CommandResult:
    """Turn exported episodes into a run that can be reported on, compared and learned from."""
    from planbook.export.importing import import_files

    imported = import_files(files, out)
    console().print(
        f"{counted(imported['episodes'], 'episode')} ({imported['solved']} solved) in "
        f"{', '.join(imported['worlds'])}, planned by {', '.join(imported['planners'])}; "
        f"see them with: planbook report {imported['run']}"
    )
    return errors.OK, imported


@click.group()
def skills() -> None:
    """Learned procedures as Agent Skills: SKILL.md folders with evidence that they work."""


@skills.command(name="export")
@click.argument("run", type=RUN_FOLDER)
@click.option("--out", default=None, type=click.Path(path_type=Path), help="The folder; by default RUN/skills.")
@JSON
def skills_export(run: Path, out: Path | None) -> CommandResult:
    """Write a SKILL.md folder for each verified procedure of RUN, a run of `planbook build`."""
    from planbook.export.skills import export_skills

    written, left_out = export_skills(run, out)
    for name, folder in written.items():
        console().print(f"{name}: {folder}")
    for task_type, reason in left_out.items():
        ERRORS.print(f"Left out {task_type}: {reason}", style="yellow")
    return errors.OK, {"skills": written, "left_out": left_out, "run": str(run)}


@skills.command(cls=Command)
@click.argument("folder", metavar="DIR", type=RUN_FOLDER)
@options("env", "env_options", "out", "jobs", "unsafe_no_sandbox")
@JSON
def verify(folder: Path, settings: Settings) -> CommandResult:
    """Play the skills in DIR again on the tasks of their evidence, and compare the verdicts.

    DIR is one skill or a folder of several. The exit code is 0 only if every file and every verdict is as recorded. It
    is 1 otherwise, or the exit code of the run if the run did not end normally.
    """
    from planbook.export.verification import skill_folders

    played = [_verify_skill(skill_folder, settings) for skill_folder in skill_folders(folder)]
    for _, skill in played:
        console().print(f"{skill.name}: {_describe_skill(skill)}")
    code = max(code or (errors.OK if skill.is_unchanged else errors.BROKEN) for code, skill in played)
    return code, {"skills": [skill.model_dump(mode="json") for _, skill in played]}


def _verify_skill(folder: Path, settings: Settings) -> tuple[int, "VerifiedSkill"]:
    """Play a skill on the tasks of its evidence, in a separate run. Return its exit code and the result."""
    from planbook.export import verification as skill_files

    evidence = skill_files.read_evidence(folder)
    config = skill_files.verification_config(folder, evidence, settings.env, settings.env_options)
    out = settings.out and settings.out / folder.resolve().name
    with quiet():
        tasks = skill_files.tasks_in_environment(config, evidence)
        code, summary = play(config, out, settings.execution(), tasks=tasks)
    return code, skill_files.verified_skill(folder, evidence, Path(summary.run))


def _describe_skill(skill: "VerifiedSkill") -> str:
    """Describe the result of verifying a skill in one line."""
    verdicts = f"changed verdicts: {', '.join(skill.changed) or 'none'}"
    files = f"changed files: {', '.join(skill.changed_files) or 'none'}"
    reduced = f"; limits reduced to planbook's own: {', '.join(skill.reduced_limits)}" if skill.reduced_limits else ""
    solved = f"{skill.solved} of {counted(skill.tasks, 'task')} solved"
    return f"{solved}; {verdicts}; {files}{reduced}; the run is in {skill.run}"


def file_format(requested: str | None, out: Path) -> str:
    """Return the requested format or, if there is none, the default format for the file's extension.

    Raises BadArgument if the requested format does not fit the extension, or if none was requested and the extension is
    unknown.
    """
    fitting = FORMATS_BY_EXTENSION.get(out.suffix.lower(), FORMATS)
    if requested is None and out.suffix and out.suffix.lower() not in FORMATS_BY_EXTENSION:
        raise BadArgument(
            f"no format has the extension of {out.name}: use {' or '.join(FORMATS_BY_EXTENSION)}, or choose a format "
            f"with --format ({', '.join(FORMATS)})"
        )
    if requested is not None and requested not in fitting:
        raise BadArgument(
            f"--format {requested} does not fit the name {out.name}, which means {fitting[0]}; "
            "leave out --format, or rename the file"
        )
    return requested or fitting[0]


def _describe_export(exported: "ExportResult") -> str:
    """Describe in one line how many episodes were written, how many of them without their events, and why."""
    task_only = tally(exported.task_only)
    location = "" if exported.out == "-" else f" in {exported.out}"
    source = "" if exported.conversations is None else f"{counted(exported.conversations, 'conversation')} of "
    omitted = ""
    if task_only:
        omitted = f"; {task_only} omitted" if exported.form == "chat" else f"; only the task and ending of {task_only}"
    return f"{source}{counted(exported.episodes, 'episode')}{location} ({exported.form}){omitted}."


def _print_schema() -> CommandResult:
    from planbook.planner import Trajectory

    schema = Trajectory.model_json_schema(mode="serialization")
    if not is_json_output():
        click.echo(json.dumps(schema, indent=2))
    return errors.OK, schema


def _check_options(runs: tuple[Path, ...], form: str, out: Path, roles: str) -> None:
    """Raise BadArgument if no run is named, or if some options cannot be combined."""
    if not runs:
        raise BadArgument("name a run to export, or print the schema with --schema")
    if roles and form != "chat":
        raise BadArgument("--roles is only for conversations; add --format chat")
    if str(out) == "-" and (is_json_output() or form == "parquet"):
        reason = "Parquet is not text" if form == "parquet" else "--json prints its result to standard output"
        raise BadArgument(f"{reason}; name a file with --out")


DEFAULT_ACTIONS = 10_000
"""Default of ``--actions``: the maximum number of actions in a task, over all of its plans."""
SESSION_TASK = "session"
"""Id and type of the only task of an environment without tasks. The client decides what to do in it."""


@click.command()
@options("Environment", "split", "types", "seeds", "tasks", "limits", "seed", "actions", "library", "unsafe_no_sandbox")
def mcp(settings: Settings) -> int:
    """Serve an environment to an MCP client over stdio: check_plan, run_plan, verified procedures and the manual."""
    if not (hasattr(sys.stdin, "buffer") and hasattr(sys.stdout, "buffer")):
        raise BadArgument("standard input or output is closed; an MCP client talks to this command through both")
    from planbook.knowledge import PROCEDURES, library_knowledge
    from planbook.mcp_server import PlanSession, serve  # the SDK is slow to import, and is an optional dependency
    from planbook.planner import EpisodeSettings
    from planbook.rules import render_environment

    actions = DEFAULT_ACTIONS if settings.actions is None else settings.actions
    with redirect_stdout(sys.stderr):  # modules may print when they are loaded
        config = settings.with_learned_library().config(PROCEDURES)
        environment, environment_options = config.environment, config.environment_options
        tasks, learned = _tasks_to_serve(config), library_knowledge(config)
    limits = EpisodeSettings(actions, config.limits, str(config.seed))
    with Sandbox(modules=environment.modules, unsafe_no_sandbox=settings.unsafe_no_sandbox) as sandbox:
        serve(
            lambda: PlanSession(environment(environment_options), sandbox, tasks, limits),
            render_environment(environment, environment_options),
            tasks,
            learned,
        )
    return errors.OK


def _tasks_to_serve(config: Config) -> Sequence[Task]:
    """Return the selected tasks. For tools without tasks, return one task, whose goal the client decides.

    Raises BadSelection if no task has the selected ids or types.
    """
    from planbook.envs import ToolEnvironment

    environment, environment_options = config.environment, config.environment_options
    if issubclass(environment, ToolEnvironment) and not environment.has_tasks(environment_options):
        split, goal = environment.splits[0], "Do what the client asks for."
        return [Task(id=SESSION_TASK, env=environment.name, split=split, type=SESSION_TASK, goal=goal)]
    return environment.select(config.selection, environment_options)
