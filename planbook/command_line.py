"""The commands with their options. Each parses, imports what it needs and calls it."""

from importlib import import_module
from pathlib import Path

import click

from planbook import errors
from planbook.options import JSON, PLAN_FILE, PRICES, RUN_FOLDER, TABLE, Command, options
from planbook.settings import Settings, split_names
from planbook.terminal.printing import answer

SELECTION = ("Environment", "Tasks", "Episodes")
PLAYING = (*SELECTION, "Library", "Planning", "Models", "Spending", "Running")


IMPORTED_ON_DEMAND = {
    "bench": "commands.inspection:bench",
    "envs": "commands.inspection:envs",
    "planners": "commands.inspection:planners",
    "rules": "commands.rulebook:rules",
    "check-env": "commands.checking:check_env",
    "compare": "commands.looking:compare",
    "export": "commands.exchanging:export",
    "fork": "commands.rerunning:fork",
    "graph": "graphs:graph",
    "import": "commands.exchanging:import_command",
    "mcp": "commands.serving:mcp",
    "report": "commands.looking:report",
    "rerun": "commands.rerunning:rerun",
    "show": "commands.looking:show",
    "skills": "commands.exchanging:skills",
    "stats": "commands.looking:stats",
    "watch": "commands.looking:watch",
}
"""Commands that are declared next to their implementation."""


class CommandGroup(click.Group):
    """Holds the commands, and loads those of ``IMPORTED_ON_DEMAND`` on demand."""

    command_class = Command

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None."""
        if cmd_name not in IMPORTED_ON_DEMAND:
            return super().get_command(ctx, cmd_name)
        module, _, name = IMPORTED_ON_DEMAND[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"planbook.{module}"), name)
        return command


commands = CommandGroup()


@commands.command()
@options("Running")
@JSON
def demo(settings: Settings, as_json: bool) -> int:
    """Show the main features with what ships: no key, no download."""
    from planbook.commands import demo as demonstration

    code, summaries = demonstration.show(settings.out, settings.hosting(), as_json=as_json, store=settings.store)
    return answer(code, {"runs": [summary.model_dump(mode="json") for summary in summaries]}, as_json=as_json)


@commands.command()
@options(*PLAYING, "Resuming", planner="procedures")
@TABLE
@JSON
def run(settings: Settings, table: bool, as_json: bool) -> int:
    """Play tasks of an environment with a planning method."""
    from planbook.commands import playing

    code, summary = playing.play_settings(settings, "procedures", as_json=as_json)
    if table or settings.paper:
        from planbook.commands.building import with_table

        summary = with_table(summary, as_json=as_json)
    return answer(code, summary, as_json=as_json)


@commands.command()
@click.argument("run", type=RUN_FOLDER)
@options("prices", "jobs", "unsafe_no_sandbox")
@JSON
def join(run: Path, settings: Settings, as_json: bool) -> int:
    """Help to play a RUN that another process plays, on this machine or another one.

    If the events of the run are in PostgreSQL, a copy of its folder is enough. If this process is lost, another one
    continues its episodes. This process ends when the process that plays the run ends.
    """
    from planbook.commands import playing

    code, joined = playing.join(run, settings.hosting(), as_json=as_json)
    return answer(code, joined, as_json=as_json)


@commands.command()
@options(
    *SELECTION,
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
    from planbook.commands import building

    code, summary = building.build(settings, as_json=as_json)
    return answer(code, summary, as_json=as_json)


@commands.command()
@click.argument("run", type=RUN_FOLDER)
@click.option("--tokens", default=None, type=click.IntRange(min=100), help="Maximum number of tokens of the manual.")
@options("models", "Spending")
@JSON
def formulate(run: Path, tokens: int | None, settings: Settings, as_json: bool) -> int:
    """Write the manual from the rules of a building run, with its models unless --model names others."""
    from planbook.commands import building

    code, summary = building.formulate(run, settings.models, tokens, settings.hosting(), as_json=as_json)
    return answer(code, summary, as_json=as_json)


@commands.command()
@options(*PLAYING)
@TABLE
@JSON
def test(settings: Settings, table: bool, as_json: bool) -> int:
    """Play test tasks with what was learned, and learn nothing from them."""
    from planbook.commands import building

    code, tested = building.test(settings, table=table or settings.paper, as_json=as_json)
    return answer(code, tested, as_json=as_json)


@commands.command()
@click.argument("library", metavar="RUN", type=RUN_FOLDER)
@click.option("--parts", default="", metavar="NAME,...", help="Leave out only these: rule_3, skill:TYPE.")
@options(*SELECTION, "after", "rule_tokens", "Planning", "Models", "Spending", "Running")
@JSON
def effect(library: Path, parts: str, settings: Settings, as_json: bool) -> int:
    """Measure what each rule and skill of a building run RUN is worth, by playing test tasks without it.

    One run plays with everything. Then, for each part, a run without it plays the tasks whose prompts it changes.
    """
    from planbook.commands import building

    code, effects = building.effect(library, split_names(parts), settings, as_json=as_json)
    return answer(code, effects, as_json=as_json)


@commands.command(name="cost")
@click.argument("run", type=RUN_FOLDER)
@PRICES
@JSON
def cost_command(run: Path, prices: Path | None, as_json: bool) -> int:
    """Show the cost of building after each task, and how many task types had a procedure by then."""
    from planbook.learning.cost import show_cost

    return answer(errors.OK, show_cost(run, prices, as_json=as_json), as_json=as_json)


@commands.command()
@click.argument("recorded", required=False, type=RUN_FOLDER, metavar="[RUN]")
@options(*SELECTION, "Library", "Running")
@JSON
def replay(recorded: Path | None, settings: Settings, as_json: bool) -> int:
    """Play a recorded RUN again and report where it diverges; without RUN, play tasks with the stored procedures."""
    from planbook.commands import playing, rerunning

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
    """Check a plan file or a procedure without running it, and list every fault with its line.

    With --task, a plan without such faults is followed on that task as far as that is possible without acting. Actions
    that are certain to fail are reported, if the environment declares the preconditions of its actions.
    """
    from planbook.commands import checking

    faults = checking.check_plan(plan, settings)
    runs = [] if faults else list(checking.dry_runs(plan, settings))
    return checking.show_checked(plan, faults, runs, as_json=as_json)


@commands.command(name="exec")
@click.argument("plan", type=PLAN_FILE)
@options(*SELECTION, "Running")
@click.option("--strict", is_flag=True, help="Exit with 1 unless every task was solved.")
@JSON
def execute(plan: Path, settings: Settings, strict: bool, as_json: bool) -> int:
    """Run one plan file on the selected tasks and print its steps as they happen."""
    from planbook.commands import checking

    if faults := checking.check_plan(plan, settings):
        return checking.show_faults(plan, faults, as_json=as_json)
    code, summary = checking.execute_plan(plan, settings, as_json=as_json)
    if strict and summary.solved < summary.tasks:
        code = code or errors.BROKEN
    return answer(code, summary, as_json=as_json)
