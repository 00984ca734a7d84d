"""The command `test`, which can play several runs with one budget.

This module also implements the option ``--table``, which prints the results of a run next to those of papers.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict

from planbook import errors
from planbook.commands.click_options import JSON, PLAYING, TABLE, Command, options
from planbook.commands.playing import play
from planbook.compare.groups import GroupRow, group_parts, group_rows
from planbook.config import Config, models_by_role
from planbook.console import console
from planbook.envs import Task
from planbook.knowledge import memory_of
from planbook.papers.comparison import ComparedPaper, compare_with_papers, paper_tables
from planbook.papers.differences import our_run
from planbook.planner import Budget, Spending
from planbook.results import read_folder
from planbook.results.summary import Summary
from planbook.runs import Run, new_folder
from planbook.settings import Settings, ablated_options
from planbook.spending import load_pricing, spent_so_far
from planbook.terminal import print_parts
from planbook.wording import counted

STOP_CODES = (errors.INTERRUPTED, errors.OUT_OF_BUDGET)
TEST_SEEDS = range(1000, 2000)
"""Seeds of the tasks of `planbook test`, if tasks are generated from seeds. `planbook build` uses other seeds."""
TEST_TASKS_PER_TYPE = 6


class LearningCurve(BaseModel):
    """Output of ``planbook test --after N,N --json``."""

    model_config = ConfigDict(frozen=True)

    library: str
    rows: tuple[GroupRow, ...]
    """A row for each finished test run, as in the output of `planbook stats`."""
    table: tuple[ComparedPaper, ...] | None
    """Comparison of the last test run with the results of papers (``--table``)."""


@click.command("test", cls=Command)
@options(*PLAYING)
@TABLE
@JSON
def test_command(settings: Settings, table: bool) -> tuple[int, Summary | LearningCurve]:
    """Play test tasks with what was learned, and learn nothing from them."""
    return test(settings, table=table or settings.paper)


def test(settings: Settings, *, table: bool) -> tuple[int, Summary | LearningCurve]:
    """Play test tasks with what was learned. If ``--after`` has several numbers, play one run for each of them."""
    if len(settings.after) > 1:
        return play_learning_curve(settings, table=table)
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

    If a run is interrupted or exhausts the budget, ``stopped`` is True, and no further run should be played. To
    continue the series, the user repeats the command with ``--out`` and the folder of the series.
    """

    def __init__(self, settings: Settings, out: Path) -> None:
        self.out, self.exit_code, self.stopped = out, errors.OK, False
        self._execution, self._store = settings.execution(), settings.store
        self._spent = Spending()

    def play(self, config: Config, name: str, tasks: Sequence[Task] | None = None) -> Summary:
        """Play a run of ``tasks`` (by default, those that ``config`` selects) in the folder ``name``."""
        budget = self._execution.budget
        execution = self._execution.model_copy(update={"budget": budget and unspent_budget(budget, self._spent)})
        code, summary = play(config, self.out / name, execution, store=self._store, tasks=tasks, in_series=True)
        self.exit_code, self.stopped = max(self.exit_code, code), code in STOP_CODES
        if budget:
            with closing(Run.open(self.out / name)) as run:
                self._spent += spent_so_far(run.own_events(), run.pricing)
        return summary

    @property
    def how_to_continue(self) -> str:
        """The advice that is printed when the series is stopped."""
        larger = " and a larger --budget" if self.exit_code == errors.OUT_OF_BUDGET else ""
        return f"continue with the same command and --out {self.out}{larger}."


def unspent_budget(budget: Budget, spent: Spending) -> Budget:
    """Return the unspent part of a budget."""
    limits = budget.model_dump(exclude={"formulator"}, exclude_none=True)
    unspent = {name: max(0, limit - (getattr(spent, name) or 0)) for name, limit in limits.items()}
    return budget.model_copy(update=unspent)


def play_learning_curve(settings: Settings, *, table: bool) -> tuple[int, LearningCurve]:
    """Play a test run for each number of ``--after``, and print the finished runs as `planbook stats` does.

    Raises BadArgument if the library is not a run of `planbook build` with enough tasks, or BadRun if a run cannot be
    read or continued.
    """
    config = test_config(settings.model_copy(update={"after": ()}))
    memory_of(config.model_copy(update={"after": max(settings.after)}))  # raises an error if the library cannot be used
    series, folders = Series(settings, settings.out or new_folder(config)), list[Path]()
    for number in settings.after:
        name = f"after-{number}"
        summary = series.play(config.model_copy(update={"after": number}), name)
        if series.stopped:
            later_numbers = ", ".join(map(str, settings.after[len(folders) + 1 :]))
            not_begun = f", and not begun at {later_numbers}" if later_numbers else ""
            console().print(f"Not finished at {counted(number, 'training task')}{not_begun}; {series.how_to_continue}")
            break
        folders.append(series.out / name)
    price = load_pricing(settings.prices) if settings.prices else None
    rows = group_rows([read_folder(folder, price) for folder in folders], ("after",))
    print_parts(console(), group_parts(rows) if rows else ())
    compared = with_table(summary).table if table else None
    return series.exit_code, LearningCurve(library=config.library, rows=rows, table=compared)


# The option --table


class SummaryWithTable(Summary):
    """Output of ``--table --json``. ``table`` is None if no paper has results for the environment."""

    table: tuple[ComparedPaper, ...] | None


def with_table(summary: Summary) -> SummaryWithTable:
    """Print a run's results next to those of papers, and return the run's summary with this table.

    Raises BadRun if the run cannot be read, or BadKnowledge if the manual that it used cannot be read.
    """
    run = our_run(summary)
    papers = compare_with_papers(run)
    missing = f"No paper has figures for {run.config.environment.name}."
    print_parts(console(), paper_tables(run, papers) if papers else [missing])
    return SummaryWithTable(**dict(summary), table=papers or None)
