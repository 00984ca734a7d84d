"""The command line: it parses, calls, and turns errors into one line and an exit code."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from planbook import __version__, bench, commands, errors, inspection
from planbook import demo as demonstration
from planbook.arguments import JSON, RUN, TASKS, TERMS, WORLD, Asked, options
from planbook.printing import ERRORS
from planbook.run import Run

RUN_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
PLAN_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
LIBRARY = click.option(
    "--library", default=None, type=RUN_FOLDER, help="A folder of procedures; else the shipped ones."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="%(version)s")
def planbook() -> None:
    """Agents that plan in Python and learn a manual."""


@planbook.command()
@JSON
def envs(as_json: bool) -> int:
    """Worlds, task types, what is installed and what is missing; what the kernel grants the sandbox."""
    return inspection.show_worlds(as_json=as_json)


@planbook.command()
@options(RUN)
@JSON
def demo(jobs: int, out: Path | None, as_json: bool) -> int:
    """The main job on what is there already: no key, no download."""
    return demonstration.show(out, jobs=jobs, as_json=as_json)


@planbook.command()
@click.option("--planner", default="procedures", help="The planning method.")
@options(WORLD, TASKS, TERMS, RUN)
@LIBRARY
@click.option("--resume", default=None, type=RUN_FOLDER, help="Go on with the run in this folder.")
@JSON
def run(
    planner: str, library: Path | None, resume: Path | None, jobs: int, out: Path | None, as_json: bool, **asked: Any
) -> int:
    """Play tasks of a world with a planning method."""
    if resume is None:
        return commands.play(Asked(**asked).config(planner, {}, library), out, jobs=jobs, as_json=as_json)
    with closing(Run.open(resume)) as opened:
        return commands.play_run(opened, jobs=jobs, as_json=as_json)


@planbook.command()
@click.argument("recorded", required=False, type=RUN_FOLDER, metavar="[RUN]")
@options(WORLD, TASKS, TERMS, RUN)
@LIBRARY
@JSON
def replay(
    recorded: Path | None, library: Path | None, jobs: int, out: Path | None, as_json: bool, **asked: Any
) -> int:
    """Play a recorded RUN again and report where it diverges; without RUN, play tasks with the stored procedures."""
    if recorded is not None:
        return commands.compare_run(recorded, jobs=jobs, as_json=as_json)
    return commands.play(Asked(**asked).config("procedures", {}, library), out, jobs=jobs, as_json=as_json)


@planbook.command()
@click.argument("plan", type=PLAN_FILE)
@options(WORLD)
@click.option("--task", "ids", multiple=True, metavar="ID", help="Check that this task exists too.")
@JSON
def check(plan: Path, as_json: bool, **asked: Any) -> int:
    """Check a plan file or a procedure without running it: every fault at once, with lines."""
    return inspection.check_plan(plan, Asked(**asked), as_json=as_json)


@planbook.command(name="exec")
@click.argument("plan", type=PLAN_FILE)
@options(WORLD, TASKS, TERMS, RUN)
@JSON
def execute(plan: Path, jobs: int, out: Path | None, as_json: bool, **asked: Any) -> int:
    """Run one plan file on the chosen tasks and print its steps as they happen."""
    return commands.execute_plan(plan, Asked(**asked), out, jobs=jobs, as_json=as_json)


@planbook.command(name="bench")
@click.argument("part", type=click.Choice(sorted(bench.BENCHES)))
@JSON
def bench_command(part: str, as_json: bool) -> int:
    """Our own speed, beside the peers that are installed."""
    return bench.show(part, as_json=as_json)


def main() -> None:
    """Entry point. Errors of ours are told in one line; anything else keeps its traceback."""
    try:
        code = planbook.main(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = errors.INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = errors.BAD_INPUT
    except errors.REPORTED as error:
        ERRORS.print(f"planbook: {error}", style="red", markup=False, soft_wrap=True)
        code = errors.exit_code(error)
    sys.exit(code)
