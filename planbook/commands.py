"""The commands that play tasks: they put the parts together, show progress and print the table."""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from manuals import SHIPPED, ProcedureLibrary, checked_procedure
from planbook import errors
from planbook.arguments import Asked
from planbook.divergence import Comparison, Sameness, replay_run
from planbook.lanes import Hosting
from planbook.printing import ERRORS, Live, console, failure_lines, progress, summary_table
from planbook.run import Config, Entry, Run, new_folder
from planbook.runner import recorded_endings, run_tasks
from planbook.store import Watch
from planbook.summary import Summary, summarise
from planner import Ending, GivenCode, code_of, is_procedure, parse_procedure

RUNS = Path("runs")


class Replayed(BaseModel):
    """What a replay of a recorded run found. ``by_sameness`` counts episodes; ``differences`` are by task id."""

    model_config = ConfigDict(frozen=True)

    episodes: int
    by_sameness: dict[str, int]
    differences: dict[str, Comparison]
    seconds: float
    run: str


def play(
    config: Config, out: Path | None, hosting: Hosting, *, as_json: bool, watch: Watch | None = None
) -> tuple[int, Summary]:
    """Begin a run, or take it up where its folder holds the same one, and play it to the end."""
    tasks = config.world.select(config.selection, config.world_options)
    if config.planner == "procedures":
        _check_library(library_of(config), config, sorted({task.type for task in tasks}))
    with closing(Run.create(out or new_folder(RUNS, config), config, tasks)) as run:
        return play_run(run, hosting, as_json=as_json, watch=watch)


def resume(folder: Path, hosting: Hosting, *, as_json: bool) -> tuple[int, Summary]:
    """Go on with a run."""
    with closing(Run.open(folder, to_play=True)) as run:
        return play_run(run, hosting, as_json=as_json)


def play_run(run: Run, hosting: Hosting, *, as_json: bool, watch: Watch | None = None) -> tuple[int, Summary]:
    """Play what is left of a run, print its table, and return the exit code."""
    if changed := run.changed_versions():
        ERRORS.print(f"This run was begun with other versions: {'; '.join(changed)}.", style="yellow")
    begun = time.monotonic()
    title = f"{run.config.title} on {run.config.world.name}"
    finished = _play_with_progress(run, title, hosting, watch)
    seconds = time.monotonic() - begun
    summary = summarise(run.entries(), recorded_endings(run), seconds, str(run.folder))
    out = console(as_json)
    out.print(summary_table(summary, title))
    for line in failure_lines(summary):
        out.print(line, markup=False, soft_wrap=True)
    out.print(f"{summary.seconds:.1f} s; everything is in {summary.run}", soft_wrap=True)
    if not finished:
        out.print(f"Stopped. Go on with: planbook run --resume {run.folder}", soft_wrap=True)
        return errors.INTERRUPTED, summary
    return errors.BROKEN if summary.broken else errors.OK, summary


def library_of(config: Config) -> ProcedureLibrary:
    """The procedures that a run uses."""
    return ProcedureLibrary(config.world, Path(config.library) if config.library else SHIPPED, config.world_options)


def _check_library(library: ProcedureLibrary, config: Config, types: list[str]) -> None:
    """Read and check what the run will use. Raises BadProcedure, BadArgument if there is nothing at all."""
    missing = [kind for kind in types if library.procedure(kind) is None]
    if missing == types:
        raise errors.BadArgument(
            f"there is no procedure for {config.world.name} in {library.folder}; a library is a folder that holds "
            f"{config.world.name}/procedures/*.py (--library)"
        )
    if missing:
        ERRORS.print(
            f"No procedure in {library.folder} for {', '.join(missing)}: those count as no_plan.", style="yellow"
        )


def _play_with_progress(run: Run, title: str, hosting: Hosting, watch: Watch | None) -> bool:
    already = recorded_endings(run).values()
    solved = sum(ending.outcome.solved for ending in already)
    with progress() as bar:
        line = bar.add_task(title, total=len(run.entries()), completed=len(already), solved=solved)

        def on_ending(entry: Entry, ending: Ending) -> None:
            nonlocal solved
            solved += ending.outcome.solved
            bar.update(line, advance=1, solved=solved)

        return run_tasks(run, library_of(run.config), on_ending, hosting=hosting, watch=watch)


def execute_plan(plan: Path, asked: Asked, hosting: Hosting, *, as_json: bool) -> tuple[int, Summary]:
    """Run one plan file, or one procedure, on the chosen tasks; its steps are printed as they happen."""
    config = asked.config("code", given_plan(plan, asked).model_dump(mode="json"))
    live = Live(console(as_json)) if hosting.jobs == 1 else None
    return play(config, asked.out, hosting, as_json=as_json, watch=live)


def given_plan(plan: Path, asked: Asked) -> GivenCode:
    """The code of a plan file; a procedure is checked and called. Raises BadArgument, BadProcedure."""
    text = read_plan(plan)
    if not is_procedure(text):
        return GivenCode(code=text, source=plan.name)
    procedure = parse_procedure(text, plan.name, plan.resolve().parent.parent / "helpers")
    return code_of(checked_procedure(procedure, asked.world(), asked.world_options()))


def read_plan(plan: Path) -> str:
    """The text of a plan file. Raises BadArgument where it is no text."""
    try:
        return plan.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadArgument(f"{plan} cannot be read as a plan: {error}") from error


def compare_run(folder: Path, hosting: Hosting, *, as_json: bool) -> tuple[int, Replayed]:
    """Play a recorded run again, print the first difference of each episode, and return the exit code."""
    begun = time.monotonic()
    out = console(as_json)
    counts: Counter[str] = Counter({kind.value: 0 for kind in Sameness})
    differences: dict[str, Comparison] = {}

    def on_comparison(entry: Entry, comparison: Comparison) -> None:
        counts[comparison.sameness] += 1
        if comparison.event:
            differences[entry.task.id] = comparison
            out.print(f"{entry.task.id}: {comparison}", markup=False, soft_wrap=True)

    with closing(Run.open(folder)) as run:
        finished = replay_run(run, on_comparison, hosting=hosting)
    seconds = round(time.monotonic() - begun, 3)
    counted = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    out.print(f"{counts.total()} episodes replayed in {seconds:.1f} s: {counted or 'none'}.")
    report = Replayed(
        episodes=counts.total(), by_sameness=dict(counts), differences=differences, seconds=seconds, run=str(folder)
    )
    if not finished:
        return errors.INTERRUPTED, report
    return errors.BROKEN if differences else errors.OK, report
