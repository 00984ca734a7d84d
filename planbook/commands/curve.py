"""What knowledge is worth: test runs with it after so many building tasks, and without each of its parts.

Learning curves are AutoManual's figure 4.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict
from rich.table import Table

from planbook import errors
from planbook.compare import PartEffect, effect_parts, part_effects
from planbook.config import Config
from planbook.console import console, right_aligned
from planbook.envs import Task
from planbook.knowledge import memory_of
from planbook.learning import tasks_of
from planbook.papers import PaperComparison
from planbook.results import (
    BuildingCost,
    Paying,
    Reached,
    Summary,
    building_cost,
    paying_table,
    reached_after,
    read_folder,
)
from planbook.results.statistics import wilson
from planbook.runs import Run, is_run
from planbook.terminal.printing import print_parts
from planbook.wording import NO_FIGURE, fixed, interval

TARGET = 0.95
"""The share solved that the headline is about."""
STOPPED = (errors.INTERRUPTED, errors.OUT_OF_BUDGET)


class PlayOne(Protocol):
    """Plays a test run into a folder, of the tasks that the configuration selects unless others are given."""

    def __call__(self, config: Config, out: Path, *, tasks: Sequence[Task] | None = None) -> tuple[int, Summary]:
        """Return the exit code and the summary."""


class Point(BaseModel):
    """One test run of a curve, and the cost of building until then."""

    model_config = ConfigDict(frozen=True)

    after: int
    interval: tuple[float, float]
    until_then: Reached
    summary: Summary


class Curve(BaseModel):
    """The object that ends the standard output of ``planbook test --after N,N --json``."""

    model_config = ConfigDict(frozen=True)

    library: str
    curve: tuple[Point, ...]
    paying: dict[str, Paying | None] = {}
    """The cost of a solved task with learning included, by the number of building tasks."""
    table: PaperComparison | None = None
    """The last point compared with the papers, if that was asked for."""


def play_curve(
    config: Config, after: Sequence[int], out: Path, play_one: PlayOne, *, as_json: bool
) -> tuple[int, Curve]:
    """Play a test run for each number of building tasks, in folders below ``out``, and print the curve.

    The first run that is stopped, or whose budget ends, is the last; the same command goes on. Raises BadArgument,
    BadRun.
    """
    cost, points, worst = _cost_of(config, after), list[Point](), errors.OK
    for number in after:
        code, summary = play_one(config.model_copy(update={"after": number}), out / f"after-{number}")
        interval = wilson(summary.solved, summary.tasks)
        until_then = reached_after(cost, number)
        points.append(Point(after=number, interval=interval, until_then=until_then, summary=summary))
        worst = max(worst, code)
        if code in STOPPED:
            goes_on = f"Not finished at {number} building tasks; the same command with --out {out} continues."
            console(as_json).print(goes_on, soft_wrap=True)
            break
    curve = Curve(library=config.library, curve=tuple(points), paying=curve_paying(points))
    screen = console(as_json)
    screen.print(curve_table(curve))
    screen.print(target_line(curve))
    print_parts(screen, paying_table(curve.paying, "building tasks"))
    return worst, curve


def _cost_of(config: Config, after: Sequence[int]) -> BuildingCost:
    folder = config.library_folder
    if not is_run(folder):
        raise errors.BadArgument("--after N,N: the building tasks are those of a building run; name it with --library")
    with closing(Run.open(folder)) as run:
        cost, tasks = building_cost(run), len(run.entries())
    if max(after) > tasks:
        raise errors.BadArgument(f"--after {max(after)}: {folder} has {tasks} building tasks")
    return cost


def curve_paying(points: Sequence[Point]) -> dict[str, Paying | None]:
    """Return what a solved task cost at each point with learning included, beside the point before any learning."""
    found = {str(point.after): point.summary.paying for point in points}
    without = found.get("0")
    return {
        name: paying.against("no building tasks", without) if paying and without and name != "0" else paying
        for name, paying in found.items()
    }


def target_line(curve: Curve) -> str:
    """Return the headline: the cost of building at the first point that solved enough."""
    for point in curve.curve:
        if point.summary.tasks and point.summary.solved / point.summary.tasks >= TARGET:
            built = point.until_then
            return (
                f"{TARGET:.0%} solved first after {point.after} building tasks: {built.calls:,} calls, "
                f"{built.tokens:,} tokens and {built.actions:,} actions of building."
            )
    return f"No point of the curve solves {TARGET:.0%}."


def curve_table(curve: Curve) -> Table:
    """Return success by building tasks, the model calls of the tests, and the cost of building until then."""
    tested = ("building\ntasks", "\nsolved", "\n95 % interval", "error\nsteps", "model\ncalls")
    built_by_then = ("built:\ncalls", "\ntokens", "\nactions", "\nprocedures")
    title = "success by building tasks; what building had cost until then"
    table = right_aligned(None, (*tested, *built_by_then), title=title, unbroken=True)
    for point in curve.curve:
        summary, built, (low, high) = point.summary, point.until_then, point.interval
        share = f"{summary.solved / summary.tasks:.1%}" if summary.tasks else NO_FIGURE
        figures = (summary.model_calls, built.calls, built.tokens, built.actions, built.procedures)
        steps = fixed(summary.mean_error_steps, 2)
        table.add_row(str(point.after), share, interval(low, high), steps, *(f"{each:,}" for each in figures))
    return table


class Effects(BaseModel):
    """The object that ends the standard output of ``planbook effect --json``.

    ``finished`` is False where some parts were not played yet; ``runs`` has the folder of each run.
    """

    model_config = ConfigDict(frozen=True)

    library: str
    tasks: int
    solved: int
    parts: tuple[PartEffect, ...]
    runs: dict[str, str]
    finished: bool


def play_effects(
    config: Config, parts: Sequence[str], out: Path, play_one: PlayOne, *, as_json: bool
) -> tuple[int, Effects]:
    """Play a test run with all that is known, and one without each part, in folders below ``out``; print the effects.

    Without a part only those tasks are played whose planner is told something else. The first run that is stopped, or
    whose budget ends, is the last; the same command goes on. Raises BadArgument, BadRun.
    """
    screen, without = console(as_json), dict[str, Path | None]()
    worst, summary = play_one(config, out / "all")
    known, tasks, finished = memory_of(config), tasks_of(config), worst not in STOPPED
    for part in parts if finished else ():
        lesser = config.model_copy(update={"without": tuple(sorted({*config.without, part}))})
        memory = memory_of(lesser)
        affected = [task for task in tasks if memory.recall(task) != known.recall(task)]
        without[part] = out / f"without-{part.replace(':', '-')}" if affected else None
        if folder := without[part]:
            screen.print(f"Without {part}:")
            code, _ = play_one(lesser, folder, tasks=affected)
            worst = max(worst, code)
            if code in STOPPED:
                finished = False
                del without[part]
                break
    effects = part_effects(
        read_folder(out / "all"), {part: read_folder(folder) if folder else None for part, folder in without.items()}
    )
    if effects:
        print_parts(screen, effect_parts(effects))
    if not finished:
        screen.print(f"Not finished; the same command with --out {out} goes on.", soft_wrap=True)
    runs = {"all": str(out / "all"), **{part: str(folder) for part, folder in without.items() if folder}}
    return worst, Effects(
        library=config.library,
        tasks=summary.tasks,
        solved=summary.solved,
        parts=effects,
        runs=runs,
        finished=finished,
    )
