"""Every command with its options: it parses and calls."""

from pathlib import Path

import click

from planbook import errors
from planbook.commands import building, checking, inspection, playing, rerunning, rulebook
from planbook.commands import demo as demonstration
from planbook.commands.building import with_table
from planbook.commands.checking import check_env
from planbook.commands.exchanging import export, import_command, skills
from planbook.commands.looking import compare, report, show, stats, watch
from planbook.commands.rerunning import fork, rerun
from planbook.commands.serving import mcp
from planbook.graphs import graph
from planbook.learning import show_cost
from planbook.options import JSON, PLAN_FILE, PRICES, RUN_FOLDER, TABLE, Command, options
from planbook.settings import Settings, parts_of
from planbook.terminal.printing import answer

WHAT = ("Environment", "Tasks", "Episodes")
PLAY = (*WHAT, "Library", "Planning", "Models", "Spending", "Running")


class CommandGroup(click.Group):
    """Holds the commands."""

    command_class = Command


commands = CommandGroup()
for command in (
    check_env,
    compare,
    export,
    fork,
    graph,
    import_command,
    mcp,
    report,
    rerun,
    show,
    skills,
    stats,
    watch,
):
    commands.add_command(command)


@commands.command()
@click.option("--env", "env", default=None, help="Show only this environment: a name or FILE.py:Class.")
@options("env_options")
@JSON
def envs(env: str | None, settings: Settings, as_json: bool) -> int:
    """List environments: task types, what is installed or missing; and what the kernel grants the sandbox."""
    return inspection.show_worlds(env, settings, as_json=as_json)


@commands.command()
@click.argument("name", required=False)
@JSON
def planners(name: str | None, as_json: bool) -> int:
    """List the planning methods; of one, its options and what it shows its models in each environment."""
    return inspection.show_planners(name, as_json=as_json)


@commands.command()
@options("Running")
@JSON
def demo(settings: Settings, as_json: bool) -> int:
    """Show the main features with what ships: no key, no download."""
    code, summaries = demonstration.show(settings.out, settings.hosting(), as_json=as_json, store=settings.store)
    return answer(code, {"runs": [summary.model_dump(mode="json") for summary in summaries]}, as_json=as_json)


@commands.command()
@options(*PLAY, "Resuming", planner="procedures")
@TABLE
@JSON
def run(settings: Settings, table: bool, as_json: bool) -> int:
    """Play tasks of an environment with a planning method."""
    code, summary = playing.play_settings(settings, "procedures", as_json=as_json)
    return answer(code, with_table(summary, as_json=as_json) if table or settings.paper else summary, as_json=as_json)


@commands.command()
@click.argument("run", type=RUN_FOLDER)
@options("prices", "jobs", "unsafe_no_sandbox")
@JSON
def join(run: Path, settings: Settings, as_json: bool) -> int:
    """Play episodes of a RUN beside the process that plays it, from here or from another machine.

    If the events of the run are in PostgreSQL, a copy of its folder is enough. If this process is lost, another one
    continues its episodes; when the process that plays the run ends, so does this one.
    """
    code, joined = playing.join(run, settings.hosting(), as_json=as_json)
    return answer(code, joined, as_json=as_json)


@commands.command()
@options(
    *WHAT,
    "library",
    "rule_tokens",
    "Learning",
    "Planning",
    "Models",
    "Spending",
    "Running",
    "resume",
    "allow_changed",
    planner="automanual",
)
@JSON
def build(settings: Settings, as_json: bool) -> int:
    """Learn rules, skills and procedures from episodes, one after the other."""
    code, summary = building.build(settings, as_json=as_json)
    return answer(code, summary, as_json=as_json)


@commands.command()
@click.argument("run", type=RUN_FOLDER)
@click.option("--tokens", default=None, type=click.IntRange(min=100), help="Tokens that the manual may have.")
@options("models", "Spending")
@JSON
def formulate(run: Path, tokens: int | None, settings: Settings, as_json: bool) -> int:
    """Write the manual from the rules of a building run, by that run's models unless --model names others."""
    code, summary = building.formulate(run, settings.models, tokens, settings.hosting(), as_json=as_json)
    return answer(code, summary, as_json=as_json)


@commands.command()
@options(*PLAY)
@TABLE
@JSON
def test(settings: Settings, table: bool, as_json: bool) -> int:
    """Play test tasks with what was learned; nothing is learned from them."""
    code, tested = building.test(settings, table=table or settings.paper, as_json=as_json)
    return answer(code, tested, as_json=as_json)


@commands.command()
@click.argument("library", metavar="RUN", type=RUN_FOLDER)
@click.option("--parts", default="", metavar="NAME,...", help="Leave out only these: rule_3, skill:TYPE.")
@options(*WHAT, "after", "rule_tokens", "Planning", "Models", "Spending", "Running")
@JSON
def effect(library: Path, parts: str, settings: Settings, as_json: bool) -> int:
    """Measure what each rule and skill of a building run RUN is worth, by playing test tasks without it.

    There is a run with everything, and one without each part, of the tasks whose planner is told something else then.
    """
    code, found = building.effect(library, parts_of(parts), settings, as_json=as_json)
    return answer(code, found, as_json=as_json)


@commands.command()
@click.argument("run", type=RUN_FOLDER)
@click.argument("what", required=False, default="show", type=click.Choice([*rulebook.WAYS, rulebook.COVERAGE]))
@click.argument("which", required=False, default="")
@click.option("--group", default=None, help="The task type, if rules were built for each type separately.")
@JSON
def rules(run: Path, what: str, which: str, group: str | None, as_json: bool) -> int:
    """Show what a building run has learned, and its history: show [ID], log, diff A..B, undo N, coverage."""
    return answer(errors.OK, rulebook.show_rules(run, what, which, group, as_json=as_json), as_json=as_json)


@commands.command(name="cost")
@click.argument("run", type=RUN_FOLDER)
@PRICES
@JSON
def cost_command(run: Path, prices: Path | None, as_json: bool) -> int:
    """Show what building had cost after each task, and how many task types had a procedure by then."""
    return answer(errors.OK, show_cost(run, prices, as_json=as_json), as_json=as_json)


@commands.command()
@click.argument("recorded", required=False, type=RUN_FOLDER, metavar="[RUN]")
@options(*WHAT, "Library", "Running")
@JSON
def replay(recorded: Path | None, settings: Settings, as_json: bool) -> int:
    """Play a recorded RUN again and report where it diverges; without RUN, play tasks with the stored procedures."""
    if recorded is not None:
        settings.refuse_fixed("a RUN")
        code, report = rerunning.compare_run(recorded, settings.hosting(), as_json=as_json)
        return answer(code, report, as_json=as_json)
    code, summary = playing.play_settings(settings, "procedures", as_json=as_json)
    return answer(code, summary, as_json=as_json)


@commands.command()
@click.argument("plan", type=PLAN_FILE)
@options("Environment", "tasks")
@JSON
def check(plan: Path, settings: Settings, as_json: bool) -> int:
    """Check a plan file or a procedure without running it: every fault at once, with lines.

    With --task, a plan without other faults is followed on that task as far as is certain without acting, and each
    action that cannot succeed is reported, if the environment declares what its actions need.
    """
    faults = checking.check_plan(plan, settings)
    runs = [] if faults else list(checking.dry_runs(plan, settings))
    return checking.show_checked(plan, faults, runs, as_json=as_json)


@commands.command(name="exec")
@click.argument("plan", type=PLAN_FILE)
@options(*WHAT, "Running")
@click.option("--strict", is_flag=True, help="Exit with 1 unless every task was solved.")
@JSON
def execute(plan: Path, settings: Settings, strict: bool, as_json: bool) -> int:
    """Run one plan file on the selected tasks and print its steps as they happen."""
    if faults := checking.check_plan(plan, settings):
        return checking.show_faults(plan, faults, as_json=as_json)
    code, summary = checking.execute_plan(plan, settings, as_json=as_json)
    if strict and summary.solved < summary.tasks:
        code = code or errors.BROKEN
    return answer(code, summary, as_json=as_json)


@commands.command(name="bench")
@click.argument("part", type=click.Choice(inspection.BENCHMARKS))
@JSON
def bench_command(part: str, as_json: bool) -> int:
    """Measure the speed of planbook, and of peers that are installed. The benchmarks come with a clone of planbook."""
    return inspection.show_benchmark(part, as_json=as_json)
