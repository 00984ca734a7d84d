"""The commands by which episodes leave runs and come in: they parse, call and print."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planbook import errors
from planbook.commands.playing import play
from planbook.console import ERRORS, console, quiet
from planbook.errors import BadArgument
from planbook.options import JSON, RUN_FOLDER, Command, options
from planbook.settings import Settings
from planbook.terminal.printing import answer
from planbook.wording import counted

if TYPE_CHECKING:
    from planbook.export import Exported, VerifiedSkill

READ = click.Path(path_type=Path, exists=True, dir_okay=False)
FORMS = ("jsonl", "parquet", "chat")
ENDINGS = {".jsonl": ("jsonl", "chat"), ".parquet": ("parquet",)}
"""What a file that is called so may hold; the first is what it holds where nothing else is asked for."""
OF_CHAT = {"roles": "--roles", "with_repairs": "--with-repairs"}


@click.command()
@click.argument("runs", nargs=-1, type=RUN_FOLDER, metavar="RUN...")
@click.option(
    "--format",
    "form",
    default=None,
    show_default="by the ending of --out, else jsonl",
    type=click.Choice(FORMS),
    help="JSON Lines or Parquet, one episode per line or row; or conversations, in the format of fine-tuning tools.",
)
@click.option("--out", default=Path("-"), type=click.Path(path_type=Path), help="The file; - is standard output.")
@click.option("--solved", is_flag=True, help="Only episodes that were solved.")
@click.option("--types", default="", show_default=False, metavar="T,...", help="Only these task types.")
@click.option("--all", "everything", is_flag=True, help="Whole BROKEN episodes, not only their task and ending.")
@click.option("--without-prompts", is_flag=True, help="Leave out what was sent to models; their replies stay.")
@click.option(
    "--roles",
    default="",
    show_default=False,
    metavar="ROLE,...",
    help="With --format chat: only the conversations of these roles.",
)
@click.option(
    "--with-repairs", is_flag=True, help="With --format chat: include unusable replies and the answers to them."
)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a line, and export nothing.")
@JSON
def export(runs: tuple[Path, ...], form: str | None, out: Path, schema: bool, as_json: bool, **given: Any) -> int:
    """Write the episodes of runs to one file, in a documented schema or as conversations."""
    from planbook.export import ExportChoice
    from planbook.export import export as write_out

    if schema:
        return _print_schema()
    form = form_of(form, out)
    _check(runs, form, out, as_json=as_json, given=given)
    choice = ExportChoice(
        solved=given["solved"],
        types=_names(given["types"]),
        everything=given["everything"],
        prompts=not given["without_prompts"],
        roles=_names(given["roles"]),
        with_repairs=given["with_repairs"],
    )
    exported = write_out(runs, form, out, choice)
    ERRORS.print(_told(exported), markup=False, soft_wrap=True)
    return answer(errors.OK, exported, as_json=as_json)


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=READ, metavar="FILE...")
@click.option("--out", default=None, type=click.Path(path_type=Path), help="The folder to make for the run.")
@JSON
def import_command(files: tuple[Path, ...], out: Path | None, as_json: bool) -> int:
    """Make a run of episodes that others exported, to report, compare and learn from."""
    from planbook.export import import_files

    imported = import_files(files, out)
    console(as_json).print(
        f"{counted(imported.episodes, 'episode')} ({imported.solved} solved) of {', '.join(imported.environments)}, "
        f"planned by {', '.join(imported.planners)}: see them by planbook report {imported.run}",
        markup=False,
        soft_wrap=True,
    )
    return answer(errors.OK, imported, as_json=as_json)


@click.group()
def skills() -> None:
    """Learned procedures as Agent Skills: SKILL.md folders, with the evidence that they hold."""


@skills.command(name="export")
@click.argument("run", type=RUN_FOLDER)
@click.option("--out", default=None, type=click.Path(path_type=Path), help="The folder; by default RUN/skills.")
@JSON
def skills_export(run: Path, out: Path | None, as_json: bool) -> int:
    """Write a SKILL.md folder for each procedure that the building run RUN learned and verified."""
    from planbook.export import export_skills

    exported = export_skills(run, out)
    for name, folder in exported.skills.items():
        console(as_json).print(f"{name}: {folder}", markup=False, soft_wrap=True)
    for kind, why in exported.left_out.items():
        ERRORS.print(f"Left out: {kind}, as {why}", style="yellow", markup=False, soft_wrap=True)
    return answer(errors.OK, exported, as_json=as_json)


@skills.command(cls=Command)
@click.argument("folder", metavar="DIR", type=RUN_FOLDER)
@options("env", "env_options", "out", "jobs", "unsafe_no_sandbox")
@JSON
def verify(folder: Path, settings: Settings, as_json: bool) -> int:
    """Play the skills in DIR on the tasks of their evidence again, and compare the verdicts.

    DIR is one skill or a folder of several. The exit code is 1 unless every file and every verdict is as recorded.
    """
    from planbook.export import skill_folders

    played = [_verified(each, settings) for each in skill_folders(folder)]
    for _, each in played:
        changed = f"; changed files: {', '.join(each.changed_files)}" if each.changed_files else ""
        verdicts = (
            f"the verdict differs for {', '.join(each.changed)}" if each.changed else "every verdict is as recorded"
        )
        told = f"{each.name}: {each.solved} of {counted(each.tasks, 'task')} solved; {verdicts}{changed}"
        console(as_json).print(f"{told}; the run is in {each.run}", markup=False, soft_wrap=True)
    code = max(code or (errors.OK if each.holds else errors.BROKEN) for code, each in played)
    return answer(code, {"skills": [each.model_dump(mode="json") for _, each in played]}, as_json=as_json)


def _verified(folder: Path, settings: Settings) -> tuple[int, "VerifiedSkill"]:
    """Play a skill on the tasks of its evidence, in a run of its own."""
    from planbook.export import read_evidence, verified_skill, verifying_config

    evidence = read_evidence(folder)
    config = verifying_config(folder, evidence, settings.env, settings.env_options)
    tasks = [each.task for each in evidence.tasks]
    out = settings.out and settings.out / evidence.skill
    with quiet():
        code, summary = play(config, out, settings.hosting(), as_json=True, tasks=tasks)
    return code, verified_skill(folder, evidence, Path(summary.run))


def form_of(asked: str | None, out: Path) -> str:
    """The form that was asked for, or what the file's ending says. Raises BadArgument where they contradict."""
    fitting = ENDINGS.get(out.suffix.lower(), FORMS)
    if asked is not None and asked not in fitting:
        raise BadArgument(
            f"--format {asked} does not fit the name {out.name}, which stands for {fitting[0]}; "
            "leave out --format, or rename the file"
        )
    return asked or fitting[0]


def _told(exported: "Exported") -> str:
    """A line on what was written, and what was not."""
    left = ", ".join(f"{count} {why}" for why, count in exported.left_out.items())
    where = "" if exported.out == "-" else f" in {exported.out}"
    lines = "" if exported.conversations is None else f"{counted(exported.conversations, 'conversation')} of "
    why = "; no model was asked in them, so there is nothing to write" if exported.replies == 0 else ""
    missing = f"; left out: {left}" if left else ""
    alone = ", ".join(f"{count} {why}" for why, count in exported.task_only.items())
    kept = "nothing" if exported.form == "chat" else "task and ending alone"
    bare = f"; {kept} of: {alone}" if alone else ""
    return f"{lines}{counted(exported.episodes, 'episode')}{where} ({exported.form}){why}{bare}{missing}."


def _print_schema() -> int:
    from planbook.planner import Trajectory

    click.echo(json.dumps(Trajectory.model_json_schema(mode="serialization"), indent=2))
    return errors.OK


def _check(runs: tuple[Path, ...], form: str, out: Path, *, as_json: bool, given: dict[str, Any]) -> None:
    """Refuse what does not go together. Raises BadArgument."""
    if not runs:
        raise BadArgument("name a run to export, or print the schema with --schema")
    if wrong := [flag for name, flag in OF_CHAT.items() if given[name] and form != "chat"]:
        raise BadArgument(f"{wrong[0]} chooses conversations; add --format chat")
    if given["without_prompts"] and form == "chat":
        raise BadArgument("--without-prompts leaves nothing of a conversation; use --format jsonl or parquet")
    if str(out) == "-" and (as_json or form == "parquet"):
        told = "Parquet is not text" if form == "parquet" else "--json ends standard output"
        raise BadArgument(f"{told}; name a file with --out")


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
