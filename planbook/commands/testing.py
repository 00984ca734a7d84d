"""The command `test`, which can play several runs with one budget.

This module also implements the option ``--table``, which prints the results of a run next to those of papers.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict
from rich.table import Table

from planbook import errors
from planbook.commands.click_options import JSON, PLAYING, TABLE, Command, options
from planbook.commands.playing import play
from planbook.config import Config, models_by_role
from planbook.console import ALL, console, right_aligned
from planbook.envs import Task
from planbook.knowledge import library_state
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
    """One test run of a learning curve, and the cost of the build up to this point."""

    model_config = ConfigDict(frozen=True)

    after: int
    """The test run used the build's knowledge as it was after this many building tasks."""
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
    """Maps each point's number of building tasks to the cost per solved task, including the cost of learning."""
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
    if len(settings.after) > 1:
        config = test_config(settings.model_copy(update={"after": ()}))
        code, curve = play_curve(config, settings.after, Series(settings, settings.out or new_folder(config)))
        last = with_table(curve.curve[-1].summary) if table else None
        return code, curve.model_copy(update={"table": last and last.table})
    config = test_config(settings)
    code, summary = play(config, settings.out, settings.execution(), store=settings.store)
    return code, with_table(summary) if table else summary


def test_config(settings: Settings) -> Config:
    """Return the configuration of a test.

    The default library is the learned one. The default planner is ``automanual`` if a model is named, or else
    ``procedures``.
    """
    planner = settings.planner or ("automanual" if models_by_role(settings.models) else "procedures")
    settings = settings.with_learned_library()
    settings = settings.with_default_tasks(TEST_SEEDS, TEST_TASKS_PER_TYPE, ("valid_unseen", "test"))
    return settings.config(planner, ablated_options(planner, settings.without))


class Series:
    """Plays several runs, one after another, in folders below ``out``. They share one budget.

    If a run is interrupted or exhausts the budget, ``stopped`` is True, and no further run should be played. The same
    command then continues the series.
    """

    def __init__(self, settings: Settings, out: Path) -> None:
        self.out, self.exit_code, self.stopped = out, errors.OK, False
        self._execution, self._store, self.prices = settings.execution(), settings.store, settings.prices
        self._spent = Spending()

    def play(self, config: Config, name: str, tasks: Sequence[Task] | None = None) -> Summary:
        """Play a run of ``tasks`` (by default, those that ``config`` selects) in the folder ``name``."""
        budget = self._execution.budget
        execution = self._execution.model_copy(update={"budget": budget and unspent_budget(budget, self._spent)})
        code, summary = play(config, self.out / name, execution, store=self._store, tasks=tasks, in_series=True)
        self.exit_code, self.stopped = max(self.exit_code, code), code in STOPPED
        if budget:
            with closing(Run.open(self.out / name)) as run:
                self._spent += spent_so_far(run.own_events(), run.price)
        return summary

    @property
    def how_to_continue(self) -> str:
        """Advice on how to continue the series after it was stopped."""
        larger = " and a larger --budget" if self.exit_code == errors.OUT_OF_BUDGET else ""
        return f"continue with the same command and --out {self.out}{larger}."


def unspent_budget(budget: Budget, spent: Spending) -> Budget:
    """Return what is left of a budget."""
    limits = budget.model_dump(exclude={"formulator"}, exclude_none=True)
    unspent = {name: max(0, limit - (getattr(spent, name) or 0)) for name, limit in limits.items()}
    return budget.model_copy(update=unspent)


def play_curve(config: Config, after: Sequence[int], series: Series) -> tuple[int, Curve]:
    """Play a test run for each number in ``after``, and print the learning curve.

    Raises BadArgument if the library is not a run of `planbook build`, or BadRun if a run cannot be read or continued.
    """
    built, points, screen = _building_steps(config, after, series.prices), list[CurvePoint](), console()
    for number in after:
        summary = series.play(config.model_copy(update={"after": number}), f"after-{number}")
        until_then, bounds = state_after(built, number), summary.intervals[ALL]
        points.append(CurvePoint(after=number, interval=bounds, until_then=until_then, summary=summary))
        if series.stopped:
            not_begun = ", ".join(map(str, after[len(points) :]))
            begun = f", and not begun at {not_begun}" if not_begun else ""
            screen.print(f"Not finished at {counted(number, 'building task')}{begun}; {series.how_to_continue}")
            break
    finished = points[:-1] if series.stopped else points
    curve = Curve(library=config.library, curve=tuple(points), paying=curve_payoffs(finished))
    screen.print(curve_table(curve))
    print_parts(screen, payoff_table(curve.paying, "building tasks"))
    return series.exit_code, curve


def _building_steps(config: Config, after: Sequence[int], prices: Path | None) -> Sequence[BuildingState]:
    folder = config.library_folder
    if not is_run(folder) or RunFile.read(folder).config.learning is None:
        raise errors.BadArgument("--after N,N: a learning curve needs a run of `planbook build` as --library")
    with closing(Run.open(folder)) as run:
        library_state(config.model_copy(update={"after": max(after)}), run)  # refuses a library that cannot be used
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
    ours = our_run(summary)
    papers = compare_with_papers(ours)
    missing = f"No paper has figures for {ours.config.environment.name}."
    print_parts(console(), paper_tables(ours, papers) if papers else [missing])
    return SummaryWithTable(**dict(summary), table=papers or None)
