"""Every command with its options: it parses and calls."""

from pathlib import Path
from typing import Any

import click

from planbook import bench, errors
from planbook.arguments import Asked, counts_of, learning_of, spending_of
from planbook.commands import building, executing, inspection, methods, playing, replaying, rulebook
from planbook.commands import demo as demonstration
from planbook.commands.checking_envs import check_env
from planbook.commands.comparing import compare, stats
from planbook.commands.dry_run import dry_runs
from planbook.commands.exchanging import export, import_command
from planbook.commands.paper_tables import with_table
from planbook.commands.reporting import report
from planbook.commands.rerunning import rerun
from planbook.commands.showing import show
from planbook.commands.watching import watch
from planbook.graphs import graph
from planbook.learning import show_cost
from planbook.options import (
    AFTER,
    AGAIN,
    ASKING,
    BUILDING,
    CURVE,
    JOINING,
    JSON,
    LIBRARY,
    PRICES,
    RESUMING,
    RUN,
    RUN_FOLDER,
    SPENDING,
    TABLE,
    TASKS,
    TERMS,
    WORLD,
    only_with_a_run,
    options,
)
from planbook.terminal.printing import answer
from planbook.workers import Hosting

PLAN_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group()
def commands() -> None:
    """Hold the commands."""


for command in (check_env, compare, export, graph, import_command, report, rerun, show, stats, watch):
    commands.add_command(command)


@commands.command()
@click.option("--env", "env", default=None, help="Only this world; FILE.py:Class is one too.")
@JSON
def envs(env: str | None, as_json: bool) -> int:
    """Worlds, task types, what is installed and what is missing; what the kernel grants the sandbox."""
    return inspection.show_worlds(env, as_json=as_json)


@commands.command()
@click.argument("name", required=False)
@JSON
def planners(name: str | None, as_json: bool) -> int:
    """The planning methods; of one, its options and what it shows its models of each world."""
    return methods.show_planners(name, as_json=as_json)


@commands.command()
@options(RUN)
@JSON
def demo(out: Path | None, store: str | None, as_json: bool, **given: Any) -> int:
    """The main job on what is there already: no key, no download."""
    code, summaries = demonstration.show(out, Hosting(**given), as_json=as_json, store=store)
    return answer(code, {"runs": [summary.model_dump(mode="json") for summary in summaries]}, as_json=as_json)


@commands.command()
@click.option(
    "--planner", default="procedures", help="The method: a name that `planbook planners` lists, or FILE.py:NAME."
)
@options(WORLD, TASKS, TERMS, LIBRARY, AFTER, ASKING, SPENDING, RUN, RESUMING, AGAIN)
@TABLE
@JSON
def run(planner: str, resume: Path | None, again: str | None, table: bool, as_json: bool, **given: Any) -> int:
    """Play tasks of a world with a planning method."""
    hosting = _hosting(given)
    if resume is not None:
        only_with_a_run("--resume", "resume")
        code, summary = playing.resume(resume, hosting, again=again, as_json=as_json)
    else:
        asked = Asked(**given)
        table = table or asked.paper
        code, summary = playing.play(asked.config(planner), asked.out, hosting, as_json=as_json, store=asked.store)
    return answer(code, with_table(summary, as_json=as_json) if table else summary, as_json=as_json)


@commands.command()
@click.argument("run", type=RUN_FOLDER)
@options(JOINING)
@JSON
def join(run: Path, as_json: bool, **given: Any) -> int:
    """Play episodes of a RUN beside the process that plays it, from here or from another machine.

    Of a run whose events are in PostgreSQL, a copy of the folder will do. Episodes that are under way here go on in
    another process if this one is lost; when the process that plays the run ends, so does this one.
    """
    code, joined = playing.join(run, Hosting(**given), as_json=as_json)
    return answer(code, joined, as_json=as_json)


@commands.command()
@click.option("--planner", default="automanual", help="The planning method whose episodes are learnt from.")
@options(WORLD, TASKS, TERMS, LIBRARY, BUILDING, ASKING, SPENDING, RUN, RESUMING)
@JSON
def build(planner: str, resume: Path | None, as_json: bool, **given: Any) -> int:
    """Build rules, skills and procedures from episodes, one after the other."""
    hosting = _hosting(given)
    if resume is not None:
        only_with_a_run("--resume", "resume")
        code, summary = playing.resume(resume, hosting, as_json=as_json)
    else:
        learning = learning_of(given)
        code, summary = building.build(planner, Asked(**given), learning, hosting, as_json=as_json)
    return answer(code, summary, as_json=as_json)


@commands.command()
@click.argument("run", type=RUN_FOLDER)
@click.option("--model", "models", multiple=True, metavar="MODEL", help="Another model than the run's.")
@click.option("--tokens", default=None, type=click.IntRange(min=100), help="Tokens that the manual may have.")
@options(SPENDING)
@JSON
def formulate(run: Path, models: tuple[str, ...], tokens: int | None, as_json: bool, **given: Any) -> int:
    """Turn the rules of a building run into a manual."""
    hosting = Hosting(**spending_of(given))
    code, summary = building.formulate(run, models, tokens, hosting, as_json=as_json)
    return answer(code, summary, as_json=as_json)


@commands.command()
@click.option(
    "--planner",
    default=None,
    help="A name that `planbook planners` lists, or FILE.py:NAME; without a model, the stored procedures.",
)
@options(WORLD, TASKS, TERMS, LIBRARY, CURVE, ASKING, SPENDING, RUN)
@TABLE
@JSON
def test(planner: str | None, table: bool, after: str, as_json: bool, **given: Any) -> int:
    """Play test tasks with what was learnt, and nothing is learnt from them."""
    hosting = _hosting(given)
    asked = Asked(**given)
    table = table or asked.paper
    code, tested = building.test(planner, asked, counts_of(after), hosting, table=table, as_json=as_json)
    return answer(code, tested, as_json=as_json)


@commands.command()
@click.argument("run", type=RUN_FOLDER)
@click.argument("what", required=False, default="show", type=click.Choice([*rulebook.WAYS, rulebook.COVERAGE]))
@click.argument("which", required=False, default="")
@click.option("--group", default=None, help="Of a building per task type: whose rules.")
@JSON
def rules(run: Path, what: str, which: str, group: str | None, as_json: bool) -> int:
    """What a building run has learnt, and how it came about: show [ID], log, diff A..B, undo N, coverage."""
    return answer(errors.OK, rulebook.show_rules(run, what, which, group, as_json=as_json), as_json=as_json)


@commands.command(name="cost")
@click.argument("run", type=RUN_FOLDER)
@PRICES
@JSON
def cost_command(run: Path, prices: Path | None, as_json: bool) -> int:
    """What building had cost after each task, and how many task types had a procedure by then."""
    return answer(errors.OK, show_cost(run, prices, as_json=as_json), as_json=as_json)


@commands.command()
@click.argument("recorded", required=False, type=RUN_FOLDER, metavar="[RUN]")
@options(WORLD, TASKS, TERMS, LIBRARY, AFTER, RUN)
@JSON
def replay(recorded: Path | None, as_json: bool, **given: Any) -> int:
    """Play a recorded RUN again and report where it diverges; without RUN, play tasks with the stored procedures."""
    hosting = _hosting(given)
    if recorded is not None:
        only_with_a_run("a RUN", "recorded")
        code, report = replaying.compare_run(recorded, hosting, as_json=as_json)
        return answer(code, report, as_json=as_json)
    asked = Asked(**given)
    code, summary = playing.play(asked.config("procedures"), asked.out, hosting, as_json=as_json, store=asked.store)
    return answer(code, summary, as_json=as_json)


@commands.command()
@click.argument("plan", type=PLAN_FILE)
@options(WORLD)
@click.option(
    "--task", "ids", multiple=True, metavar="ID", help="Tell of actions that cannot succeed on this task too."
)
@JSON
def check(plan: Path, as_json: bool, **asked: Any) -> int:
    """Check a plan file or a procedure without running it: every fault at once, with lines.

    With --task, a plan without other faults is followed as far as is certain without acting: told is each action that
    cannot succeed whenever the plan comes to it, where the world declares what its actions need.
    """
    faults = inspection.check_plan(plan, Asked(**asked))
    runs = [] if faults else list(dry_runs(plan, Asked(**asked)))
    return inspection.show_checked(plan, faults, runs, as_json=as_json)


@commands.command(name="exec")
@click.argument("plan", type=PLAN_FILE)
@options(WORLD, TASKS, TERMS, RUN)
@click.option("--strict", is_flag=True, help="Exit with 1 unless every task was solved.")
@JSON
def execute(plan: Path, strict: bool, as_json: bool, **given: Any) -> int:
    """Run one plan file on the chosen tasks and print its steps as they happen."""
    hosting, asked = _hosting(given), Asked(**given)
    if faults := inspection.check_plan(plan, asked):
        return inspection.show_faults(plan, faults, as_json=as_json)
    code, summary = executing.execute_plan(plan, asked, hosting, as_json=as_json)
    if strict and summary.solved < summary.tasks:
        code = code or errors.BROKEN
    return answer(code, summary, as_json=as_json)


@commands.command(name="bench")
@click.argument("part", type=click.Choice(sorted(bench.BENCHES)))
@JSON
def bench_command(part: str, as_json: bool) -> int:
    """Our own speed, beside the peers that are installed."""
    return bench.show(part, as_json=as_json)


def _hosting(given: dict[str, Any]) -> Hosting:
    """Take out of the options what says how episodes are hosted; the rest says what is played."""
    names = {"jobs", "executor", "unsafe_no_sandbox", "allow_changed"} & given.keys()
    return Hosting(**spending_of(given), **{name: given.pop(name) for name in names})
