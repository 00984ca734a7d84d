"""The commands `test` and `demo`, which can play several runs with one budget.

This module also implements the option ``--table``, which prints the results of a run next to those of papers.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict
from rich.table import Table

from planbook import errors
from planbook.commands.click_options import JSON, PLAYING, TABLE, Command, CommandResult, options
from planbook.commands.playing import play
from planbook.config import Config, InvocationSettings, models_by_role
from planbook.console import ALL, console, right_aligned
from planbook.envs import Task
from planbook.knowledge import check_environment, learned_in, with_manual
from planbook.knowledge.learned_memories import usable
from planbook.papers import publications
from planbook.papers.comparison import ComparedPaper, compare_with_papers, paper_tables
from planbook.papers.differences import our_run
from planbook.planner import Budget, Spending
from planbook.results import read_run
from planbook.results.learning_cost import BuildingState, LearningPayoff, payoff_table, state_after
from planbook.results.summary import Summary
from planbook.runs import Run, RunFile, is_run, new_folder
from planbook.settings import Settings, ablated_options
from planbook.spending import prices_from, spent_so_far
from planbook.terminal import print_parts
from planbook.wording import NO_FIGURE, counted, fixed, interval

STOPPED = (errors.INTERRUPTED, errors.OUT_OF_BUDGET)
TEST_SEEDS = range(1000, 2000)
"""Seeds of the tasks of `planbook test`, if tasks are generated from seeds. `planbook build` uses other seeds."""
TEST_TASKS_PER_TYPE = 6


class CurvePoint(BaseModel):
    """One test run of a learning curve, and what the build had cost up to this point."""

    model_config = ConfigDict(frozen=True)

    after: int
    """The test run used the knowledge that the build had after this many of its tasks."""
    interval: tuple[float, float] | None
    """95 % interval of the share of solved tasks, or None if some episodes were not played."""
    until_then: BuildingState
    summary: Summary


class Curve(BaseModel):
    """Output of ``planbook test --after N,N --json``."""

    model_config = ConfigDict(frozen=True)

    library: str
    curve: tuple[CurvePoint, ...]
    paying: dict[str, LearningPayoff | None] = {}
    """Maps each point's number of building tasks to the cost of a solved task, which includes the cost of learning."""
    table: tuple[ComparedPaper, ...] | None = None
    """Comparison of the last test run with the results of papers (``--table``)."""


@click.command("test", cls=Command)
@options(*PLAYING)
@TABLE
@JSON
def test_command(settings: Settings, table: bool) -> tuple[int, Summary | Curve]:
    """Play test tasks with what was learned, and learn nothing from them."""
    return test(settings, table=table or settings.paper)


def test(settings: Settings, *, table: bool) -> tuple[int, Summary | Curve]:
    """Play test tasks with what was learned. If ``--after`` has several numbers, play one run for each of them."""
    after = settings.after if len(settings.after) > 1 else ()
    config = test_config(settings.model_copy(update={"after": ()}) if after else settings)
    series = Series(settings)
    result: Summary | Curve
    if after:
        code, result = play_curve(config, after, settings.out or new_folder(config), series)
    else:
        code, result = series.play(config, settings.out)
    if not table:
        return code, result
    if isinstance(result, Summary):
        return code, with_table(result)
    return code, result.model_copy(update={"table": with_table(result.curve[-1].summary).table})


def test_config(settings: Settings) -> Config:
    """Return the configuration of a test.

    The default library is the learned one. The default planner is ``automanual`` if a model is named, or else
    ``procedures``.
    """
    planner = settings.planner or ("automanual" if models_by_role(settings.models) else "procedures")
    if not settings.planner and planner == "procedures" and (settings.planner_options or settings.procedures_first):
        raise errors.BadArgument(
            "without a model, only procedures are played, and they have no options: leave out --planner-option and "
            "--procedures-first, or name a --model"
        )
    settings = settings.with_learned_library()
    settings = settings.with_default_tasks(TEST_SEEDS, TEST_TASKS_PER_TYPE, ("valid_unseen", "test"))
    return settings.config(planner, ablated_options(planner, settings.without))


class Series:
    """Plays several runs, one after another, which share one budget."""

    def __init__(self, settings: Settings) -> None:
        self._execution, self._store, self.prices = settings.execution(), settings.store, settings.prices
        self._spent = Spending()

    def play(
        self, config: Config, out: Path | None, tasks: Sequence[Task] | None = None, *, alone: bool = True
    ) -> tuple[int, Summary]:
        """Play a run of ``tasks`` (by default, those that ``config`` selects). Return its exit code and its summary.

        If the run is stopped and cannot be resumed ``alone``, the caller says how to continue the series.
        """
        budget = self._execution.budget
        execution = self._execution.model_copy(update={"budget": budget and unspent_budget(budget, self._spent)})
        code, summary = play(config, out, execution, store=self._store, tasks=tasks, in_series=not alone)
        if budget:
            with closing(Run.open(Path(summary.run))) as run:
                self._spent += spent_so_far(run.own_events(), run.price)
        return code, summary


def unspent_budget(budget: Budget, spent: Spending) -> Budget:
    """Return the budget that is left after ``spent`` was spent."""
    limits = {name: getattr(budget, name) for name in ("calls", "tokens", "money", "actions", "seconds")}
    unspent = {name: max(0, limit - (getattr(spent, name) or 0)) for name, limit in limits.items() if limit is not None}
    return budget.model_copy(update=unspent)


def play_curve(config: Config, after: Sequence[int], out: Path, series: Series) -> tuple[int, Curve]:
    """Play a test run for each number in ``after``, in folders below ``out``, and print the learning curve.

    If a run is interrupted or exhausts the budget, no further run is played; the same command continues from there.
    Raises BadArgument if the library is not a run of `planbook build`, or BadRun if a run cannot be read or continued.
    """
    built, points, exit_code = _building_steps(config, after, series.prices), list[CurvePoint](), errors.OK
    for number in after:
        code, summary = series.play(config.model_copy(update={"after": number}), out / f"after-{number}", alone=False)
        until_then, bounds = state_after(built, number), summary.intervals[ALL]
        points.append(CurvePoint(after=number, interval=bounds, until_then=until_then, summary=summary))
        exit_code = max(exit_code, code)
        if code in STOPPED:
            not_begun = ", ".join(map(str, after[len(points) :]))
            begun = f", and not begun at {not_begun}" if not_begun else ""
            message = f"Not finished at {counted(number, 'building task')}{begun}; {how_to_continue(exit_code, out)}"
            console().print(message, soft_wrap=True)
            break
    finished = points[:-1] if exit_code in STOPPED else points
    curve = Curve(library=config.library, curve=tuple(points), paying=curve_payoffs(finished))
    screen = console()
    screen.print(curve_table(curve))
    for line in _manual_line(config, after):
        screen.print(line, soft_wrap=True)
    print_parts(screen, payoff_table(curve.paying, "building tasks"))
    return exit_code, curve


def _manual_line(config: Config, after: Sequence[int]) -> Iterator[str]:
    """Yield a note if planners got a manual at some points of the curve, but a list of rules at others."""
    if not config.models:
        return
    with closing(Run.open(config.library_folder)) as run:
        states = {number: learned_in(run, number).items() for number in after}
        with_one = [
            n for n in after if any(usable(config, with_manual(run, group, state)).manual for group, state in states[n])
        ]
    if with_one and len(with_one) < len(after):
        points = ", ".join(map(str, with_one))
        yield f"The rules are a manual only at {points}, and a list elsewhere; --without formulation: always a list."


def how_to_continue(exit_code: int, out: Path) -> str:
    """Say how to continue a series of runs below ``out`` that was stopped."""
    larger = " and a larger --budget" if exit_code == errors.OUT_OF_BUDGET else ""
    return f"continue with the same command and --out {out}{larger}."


def _building_steps(config: Config, after: Sequence[int], prices: Path | None) -> Sequence[BuildingState]:
    folder = config.library_folder
    if not is_run(folder) or RunFile.read(folder).config.learning is None:
        raise errors.BadArgument("--after N,N: a learning curve needs a run of `planbook build` as --library")
    with closing(Run.open(folder)) as run:
        check_environment(config.model_copy(update={"after": max(after)}), run)
        return read_run(run, price=prices_from(prices) if prices else None).steps


def curve_payoffs(points: Sequence[CurvePoint]) -> dict[str, LearningPayoff | None]:
    """Map each point's number of building tasks to its cost per solved task, compared with point 0 if there is one."""
    costs = {str(point.after): point.summary.paying for point in points}
    baseline = costs.get("0")
    return {
        number: payoff.compared_with("no building tasks", baseline) if payoff and baseline else payoff
        for number, payoff in costs.items()
    }


def curve_table(curve: Curve) -> Table:
    """Return a table with a row for each point: the results of its test run, and the cost of the build so far."""
    test_columns = ("building\ntasks", "\nsolved", "\n95 % interval", "error\nsteps", "model\ncalls")
    building_columns = ("built:\ncalls", "\ntokens", "\nactions", "\nprocedures")
    title = "success by building tasks; cost of building up to each point"
    table = right_aligned(None, (*test_columns, *building_columns), title=title, unbroken=True)
    for point in curve.curve:
        summary, built = point.summary, point.until_then
        interval_text = interval(*point.interval) if point.interval else NO_FIGURE
        share = f"{summary.solved / summary.tasks:.1%}" if summary.tasks else NO_FIGURE
        figures = (summary.model_calls, built.calls, built.tokens, built.actions, built.procedures)
        steps = fixed(summary.mean_error_steps, 2)
        table.add_row(str(point.after), share, interval_text, steps, *(f"{figure:,}" for figure in figures))
    return table


# Comparison with papers (--table)


class SummaryWithTable(Summary):
    """Output of ``--table --json``. ``table`` is None if no paper has results for the environment."""

    table: tuple[ComparedPaper, ...] | None


def with_table(summary: Summary) -> SummaryWithTable:
    """Print a run's results next to the results of papers, and return the run's summary with this table.

    Raises BadRun if the run cannot be read, or BadKnowledge if the manual that it used cannot be read.
    """
    with closing(Run.open(Path(summary.run))) as run:
        config = run.config
    ours = our_run(config, summary)
    papers = compare_with_papers(ours)
    print_parts(console(), paper_tables(ours, papers) if papers else [_no_figures(config)])
    return SummaryWithTable(**dict(summary), table=papers or None)


def _no_figures(config: Config) -> str:
    papers = (f"{paper.paper} has them for {', '.join(paper.environments)}." for paper in publications())
    return f"No paper has figures for {config.environment.name}. {' '.join(papers)}"


# The demonstration


ALFWORLD_TASKS = Settings.of(env="alfworld", split="generated:60", seeds="0-9")
MINIWOB_TASKS = Settings.of(
    env="miniwob",
    types="click-checkboxes,click-tab-2,email-inbox,enter-date,login-user-popup,search-engine,use-autocomplete",
    seeds="1-2",
)
BUILDING = Settings.of(
    env="alfworld",
    split="generated",
    models="recorded:alfworld-generated",
    start="put",
    tasks_per_type=1,
    verify="generated:10",
)
"""The settings with which the shipped replies were recorded (by tools/record.sh). With other settings, the prompts
would differ, so that no recorded reply would fit."""
TESTING = Settings.of(env="alfworld", split="generated:60", seeds="1000-1009")
PLANNER_DEMOS = {
    "adapt": Settings.of(
        env="alfworld",
        split="generated",
        tasks=("generated/pick_clean_then_place/0",),
        models="recorded:adapt-alfworld-stepwise",
        planner_options=("iterations=4", "actions_per_reply=1"),
    ),
    "deps": Settings.of(env="minecraft", split="table21:8", models="recorded:deps-minecraft"),
    "agentkit": Settings.of(env="shopping", split="test:1", models="recorded:agentkit-shopping"),
    "devils-advocate": Settings.of(
        env="alfworld", split="generated:1", seeds="9", models="recorded:devils-advocate-alfworld"
    ),
}
"""Maps each planner to the settings with which its shipped replies were recorded."""
NEXT = """Next:
  planbook show {tested} 0                the first of these episodes, step by step
  planbook exec {plan} --env alfworld --split generated:1 --types {kind}
  planbook run --env minecraft --planner deps --model openai:NAME     with your own model and its OPENAI_API_KEY
  planbook run --env FILE.py:Class --planner react --model openai:NAME    in your own environment: see README"""


class Demo:
    """Plays the parts of the demonstration. Each run has its own folder. ``code`` is the highest exit code so far."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._series = settings, Series(settings)
        self.screen, self.summaries, self.code = console(), list[Summary](), errors.OK

    def play_procedures(self) -> None:
        """Play stored procedures on ALFWorld and, if Chromium is installed, on web pages."""
        self.screen.print("1. Stored procedures run in the sandbox, without a language model.\n")
        self._play(ALFWORLD_TASKS, "procedures")
        if self.code == errors.INTERRUPTED:
            return
        missing = [requirement for requirement in MINIWOB_TASKS.environment().requirements() if not requirement.found]
        if missing:
            self.screen.print(f"MiniWoB++ is left out: {missing[0].name} is missing. To add it: {missing[0].remedy}")
        else:
            self._play(MINIWOB_TASKS, "procedures")

    def play_planners(self) -> None:
        """Play planning methods that ask a model, with recorded replies instead of a model."""
        self.screen.print(
            "2. ADaPT breaks down a household task, DEPS plans in Minecraft, AgentKit shops, Devil's Advocate looks "
            "ahead; the model's replies are recorded, a few of them before their prompts were reworded.\n"
        )
        for planner, settings in PLANNER_DEMOS.items():
            self._play(settings, planner)

    def learn(self) -> None:
        """Build rules from episodes, formulate the manual, and test what was learned on other scenes."""
        from planbook.commands.learning import build, formulate  # `planbook test` learns nothing

        self.screen.print(
            "3. Learning a manual from six tasks, one of each type. The model's replies come from a recording.\n"
        )
        built = self.folder(BUILDING, "build")
        invocation = {name: getattr(self._settings, name) for name in InvocationSettings.model_fields}
        placement = {"out": built, "store": self._settings.store, "executor": "threads"}  # one episode after another
        self._add(*build(BUILDING.model_copy(update=invocation | placement)))
        if self.code in STOPPED:
            return
        code, _ = formulate(built, {}, None, self._settings.execution())
        self.code = max(self.code, code)
        self.screen.print()
        tested = test_config(TESTING.model_copy(update={"library": str(built)}))
        self._add(*self._series.play(tested, self.folder(TESTING, "test")))
        if self.code not in STOPPED:
            self._show_next(built)

    def _show_next(self, built: Path) -> None:
        """Write the report of the build, and suggest what to try next."""
        from planbook.report import report_runs  # the other commands need no report

        self.screen.print("Report, to open in a browser: ", end="")
        report_runs((built,), None, None)
        plan = min((built / "learnt").rglob("procedures/*.py"))
        message = NEXT.format(tested=self.summaries[-1].run, plan=plan, kind=plan.stem)
        self.screen.print(message, markup=False, soft_wrap=True)

    def folder(self, settings: Settings, name: str) -> Path:
        """Return the folder for a run of the demonstration. Each run has a different folder."""
        if self._settings.out:
            return self._settings.out / f"{settings.env}-{name}"
        without_options = settings.model_copy(update={"planner_options": {}})
        return new_folder(without_options.config("procedures").model_copy(update={"planner": name}))

    def _play(self, settings: Settings, planner: str) -> None:
        self._add(*self._series.play(settings.config(planner), self.folder(settings, planner)))

    def _add(self, code: int, summary: Summary) -> None:
        self.summaries.append(summary)
        self.code = max(self.code, code)
        self.screen.print()


@click.command(cls=Command)
@options("Running")
@JSON
def demo(settings: Settings) -> CommandResult:
    """Show the main features; this needs no key and no download."""
    demonstration = Demo(settings)
    for part in (demonstration.play_procedures, demonstration.play_planners, demonstration.learn):
        part()
        if demonstration.code == errors.INTERRUPTED:
            break
    return demonstration.code, {"runs": [summary.model_dump(mode="json") for summary in demonstration.summaries]}
