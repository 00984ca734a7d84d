"""The commands that play tasks: they put the parts together, show progress and print the table."""

import time
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict

from envs import Environment, Task, load_world
from manuals import SHIPPED, ProcedureLibrary, checked_procedure
from planbook import errors
from planbook.arguments import Asked
from planbook.divergence import Comparison, Sameness, replay_run
from planbook.printing import Live, console, failure_lines, progress, summary_table
from planbook.run import Config, Entry, Run, new_folder
from planbook.runner import recorded_endings, run_tasks
from planbook.store import Watch
from planbook.summary import Summary, summarise
from planner import Ending, GivenCode, code_of, is_procedure, parse_procedure

RUNS = Path("runs")


class Replayed(BaseModel):
    """What a replay of a recorded run found. ``by_sameness`` counts episodes."""

    model_config = ConfigDict(frozen=True)

    episodes: int
    by_sameness: dict[str, int]
    seconds: float
    run: str

    @property
    def diverged(self) -> bool:
        """Whether any episode came out differently."""
        return any(self.by_sameness.get(kind, 0) for kind in (Sameness.RENAMED, Sameness.DIFFERENT))


def play(config: Config, out: Path | None, *, jobs: int, as_json: bool, watch: Watch | None = None) -> int:
    """Begin a run, or take it up where its folder holds the same one, and play it to the end."""
    with closing(begin(config, out or new_folder(RUNS, config))) as run:
        return play_run(run, jobs=jobs, as_json=as_json, watch=watch)


def begin(config: Config, folder: Path) -> Run:
    """The run in a folder, with its tasks chosen."""
    return Run.create(folder, config, _tasks(config))


def play_run(run: Run, *, jobs: int, as_json: bool, watch: Watch | None = None) -> int:
    """Play what is left of a run, print its table, and return the exit code."""
    begun = time.monotonic()
    title = f"{run.config.planner} on {run.config.env}"
    finished = _play_with_progress(run, title, jobs, watch)
    seconds = time.monotonic() - begun
    summary = summarise(run.entries(), recorded_endings(run), seconds, str(run.folder))
    show_summary(summary, title, as_json=as_json)
    if not finished:
        console(as_json).print(f"Stopped. Go on with: planbook run --resume {run.folder}")
        return errors.INTERRUPTED
    return errors.BROKEN if summary.broken else errors.OK


def _play_with_progress(run: Run, title: str, jobs: int, watch: Watch | None) -> bool:
    world, folder = load_world(run.config.env), Path(run.config.library) if run.config.library else SHIPPED
    memory = ProcedureLibrary(world, folder, world.Options.model_validate(run.config.env_options))
    already = recorded_endings(run).values()
    solved = sum(ending.outcome.solved for ending in already)
    with progress() as bar:
        line = bar.add_task(title, total=len(run.entries()), completed=len(already), solved=solved)

        def on_ending(entry: Entry, ending: Ending) -> None:
            nonlocal solved
            solved += ending.outcome.solved
            bar.update(line, advance=1, solved=solved)

        return run_tasks(run, memory, on_ending, jobs=jobs, watch=watch)


def show_summary(summary: Summary, title: str, *, as_json: bool) -> None:
    """The table for people and, where asked for, the object that ends standard output."""
    out = console(as_json)
    out.print(summary_table(summary, title))
    for line in failure_lines(summary):
        out.print(line, markup=False, soft_wrap=True)
    out.print(f"{summary.seconds:.1f} s; everything is in {summary.run}", soft_wrap=True)
    if as_json:
        click.echo(summary.model_dump_json())


def execute_plan(plan: Path, asked: Asked, out: Path | None, *, jobs: int, as_json: bool) -> int:
    """Run one plan file, or one procedure, on the chosen tasks; its steps are printed as they happen."""
    given = given_plan(plan, asked.world(), asked.world_options())
    config = asked.config("code", given.model_dump(mode="json"))
    return play(config, out, jobs=jobs, as_json=as_json, watch=Live(console(as_json)))


def given_plan(plan: Path, world: type[Environment], options: BaseModel) -> GivenCode:
    """The code of a plan file; a procedure is checked and called. Raises BadArgument, BadProcedure."""
    text = read_plan(plan)
    if not is_procedure(text):
        return GivenCode(code=text, source=plan.name)
    procedure = parse_procedure(text, plan.name, plan.resolve().parent.parent / "helpers")
    return code_of(checked_procedure(procedure, world, options))


def read_plan(plan: Path) -> str:
    """The text of a plan file. Raises BadArgument where it is no text."""
    try:
        return plan.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadArgument(f"{plan} cannot be read as a plan: {error}") from error


def compare_run(folder: Path, *, jobs: int, as_json: bool) -> int:
    """Play a recorded run again, print the first difference of each episode, and return the exit code."""
    begun = time.monotonic()
    out = console(as_json)
    counts: dict[str, int] = {kind.value: 0 for kind in Sameness}

    def on_comparison(entry: Entry, comparison: Comparison) -> None:
        counts[comparison.sameness] += 1
        if comparison.event:
            out.print(_told(entry.task, comparison), markup=False, soft_wrap=True)

    with closing(Run.open(folder)) as run:
        finished = replay_run(run, on_comparison, jobs=jobs)
    seconds = round(time.monotonic() - begun, 3)
    report = Replayed(episodes=sum(counts.values()), by_sameness=counts, seconds=seconds, run=str(folder))
    counted = ", ".join(f"{count} {kind}" for kind, count in report.by_sameness.items() if count)
    out.print(f"{report.episodes} episodes replayed in {report.seconds:.1f} s: {counted or 'none'}.")
    if as_json:
        click.echo(report.model_dump_json())
    if not finished:
        return errors.INTERRUPTED
    return errors.BROKEN if report.diverged else errors.OK


def _tasks(config: Config) -> list[Task]:
    world = load_world(config.env)
    tasks = world.tasks(config.selection, world.Options.model_validate(config.env_options))
    if not tasks:
        raise errors.BadArgument(f"no task of {config.env} fits the selection")
    return list(tasks)


def _told(task: Task, comparison: Comparison) -> str:
    return (
        f"{task.id}: {comparison.sameness.value}, at {comparison.event}\n"
        f"  expected: {comparison.expected}\n"
        f"  actual:   {comparison.actual}"
    )
