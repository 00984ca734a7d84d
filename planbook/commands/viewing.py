"""The commands `show`, `report`, `watch`, `compare` and `stats`, which read runs."""

import webbrowser
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.text import Text

from planbook import errors
from planbook.commands.click_options import JSON, PRICES, RUN_FOLDER, CommandResult
from planbook.compare import compare_all
from planbook.compare.groups import group_parts, group_rows
from planbook.compare.rendering import comparison_parts, run_letter
from planbook.compare.settings import check_setting_names
from planbook.config import split_names
from planbook.console import ERRORS, console, is_json_output
from planbook.envs import Task
from planbook.errors import BadArgument
from planbook.planner import Ending, Outcome, Trajectory, read_trajectory
from planbook.report import report_runs
from planbook.results import RunResults, read_folder
from planbook.results.rows import NOT_PLAYED
from planbook.runs import CONFIG_FILE, EpisodeEntry, Run, is_run, recorded_endings
from planbook.spending import Pricing, load_pricing, spent_so_far
from planbook.store import Event, restart_scope
from planbook.terminal import print_parts
from planbook.terminal.episode import ending_text, episode_pieces, safe_text
from planbook.wording import ESTIMATED, counted

FAILED = "failed"


@click.command()
@click.argument("run", type=RUN_FOLDER)
@click.argument("episode")
@click.option("--prompts", is_flag=True, help="Also show prompts and replies.")
@JSON
def show(run: Path, episode: str, prompts: bool) -> tuple[int, Trajectory]:
    """Print one EPISODE of RUN: a number (from 0), the id of a task, or `failed` for the first one that failed."""
    with closing(Run.open(run, graphs=True)) as opened:
        endings = recorded_endings(opened)
        entry = find_episode(opened, episode, endings)
        events = list(opened.store.events(entry.path))
        if not events:
            raise BadArgument(f"{entry.task.id} (episode {entry.index}) has not begun; there is nothing to show")
        if is_json_output():
            from planbook.export.exporting import facts_of  # its schema takes a while to import

            facts: dict[str, Any] = {"repeat": entry.repeat, "run": facts_of(opened, entry.index)}
            return errors.OK, _latest_attempt(entry, events).model_copy(update=facts)
        goal = opened.config.goals.get(entry.task.id, entry.task.goal)
        entry = entry.model_copy(update={"task": entry.task.model_copy(update={"goal": goal})})
        trajectory = _latest_attempt(entry, events, entry.task)
        heading = _heading(entry, endings.get(entry.index), events, opened.pricing)
        out = console()
        for piece in (*heading, "", *episode_pieces(trajectory, prompts=prompts)):
            _print(out, piece)
    return errors.OK, trajectory


def _print(out: Console, piece: RenderableType) -> None:
    """Print a piece of an episode. Unless the output is a terminal, remove spaces at the ends of lines."""
    if out.is_terminal:
        out.print(piece)
        return
    with out.capture() as captured:
        out.print(piece)
    click.echo("\n".join(line.rstrip() for line in captured.get().split("\n")), nl=False)


def find_episode(run: Run, name: str, endings: dict[int, Ending]) -> EpisodeEntry:
    """Return the first episode with this name: a number, the id of a task, or `failed` for the first one that failed.

    Raises BadArgument if there is no such episode.
    """
    entries = run.entries()
    if not entries:
        raise BadArgument(
            f"{run.folder} lists no episodes: planbook 0.1 recorded the passes of a prompt graph without episodes; "
            f"see the passes with: planbook report {run.folder}"
        )
    if name == FAILED:
        failed = (entry for entry in entries if _is_failure(endings.get(entry.index, NOT_PLAYED)))
        if first := next(failed, None):
            return first
        raise BadArgument(f"no episode of {run.folder} failed; choose one by its number or its task")
    matches = [entry for entry in entries if entry.task.id == name]
    if not matches and name.isdecimal():
        matches = [entry for entry in entries if entry.index == int(name)]
    if not matches:
        numbers = f"a number from 0 to {len(entries) - 1}" if len(entries) > 1 else "0"
        raise BadArgument(f"{run.folder} has no episode {name!r}; give {numbers}, a task's id or {FAILED}")
    return matches[0]


def _is_failure(ending: Ending) -> bool:
    return not ending.outcome.solved and ending.outcome is not Outcome.NOT_RUN


def _latest_attempt(entry: EpisodeEntry, events: list[Event], task: Task | None = None) -> Trajectory:
    """Return the latest attempt at an episode, which may still be in progress.

    By default, the task is read from the attempt. Raises BadArgument if the attempt has not recorded a task yet.
    """
    path, scopes, restarts = entry.path, {event.scope for event in events}, 0
    while any(scope.startswith(restart_scope(entry.path, restarts + 1)) for scope in scopes):
        restarts += 1
        path = restart_scope(entry.path, restarts)
    try:
        return read_trajectory(path, events, task)
    except LookupError as error:
        raise BadArgument(f"{entry.task.id} (episode {entry.index}) has not begun a round yet") from error


def _heading(
    entry: EpisodeEntry, ending: Ending | None, events: list[Event], price: Pricing
) -> Iterator[RenderableType]:
    task, cost = entry.task, spent_so_far(events, price)
    repeat = f", repeat {entry.repeat}" if entry.repeat else ""
    yield safe_text(task.id, "bold").append(f"  episode {entry.index}{repeat}", "dim")
    yield safe_text(task.goal)
    facts = {"type": task.type, "split": task.split, "seed": str(task.seed)}
    yield safe_text(", ".join(f"{name} {value}" for name, value in facts.items() if value), "dim")
    yield ending_text(ending) if ending else Text("has begun but not ended", style="yellow")
    if cost.calls:
        tokens = f"{cost.prompt:,} prompt and {cost.completion:,} completion tokens"
        spent = f"{tokens}{ESTIMATED if cost.estimated else ''}, {cost.waited:.1f} s of waiting"
        yield safe_text(f"{counted(cost.calls, 'model call')}: {spent}", "dim")


@click.command()
@click.argument("runs", nargs=-1, required=True, type=RUN_FOLDER, metavar="RUN...")
@click.option(
    "--out",
    default=None,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write (default: RUN/report.html, or ./report.html for several runs).",
)
@PRICES
@JSON
def report(runs: tuple[Path, ...], out: Path | None, prices: Path | None) -> CommandResult:
    """Write runs to one HTML file: tables, charts, and the episodes cell by cell with their prompts.

    A folder that is not a run adds all runs below it.
    """
    folders = dict.fromkeys(run for folder in runs for run in runs_in(folder) or (folder,))
    return report_runs(tuple(folders), out, prices)


@click.command()
@click.argument("run", type=RUN_FOLDER)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="The port to serve on; 0 means any free port.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def watch(run: Path, port: int, no_browser: bool) -> int:
    """Show RUN in a browser on this machine while it is played, with buttons to pause, continue and stop it."""
    from planbook.watch_server import FollowedRun, serve  # the server takes a while to import

    def on_address(address: str) -> None:
        click.echo(address)
        ERRORS.print("Anyone who has this address can watch and control the run. Ctrl-C stops watching, not the run.")
        if not no_browser:
            webbrowser.open(address)

    with closing(FollowedRun(run)) as followed, suppress(KeyboardInterrupt):
        serve(followed, port, on_address)
    return errors.OK


@click.command()
@click.argument("runs", nargs=-1, required=True, type=RUN_FOLDER, metavar="RUN RUN...")
@PRICES
@JSON
def compare(runs: tuple[Path, ...], prices: Path | None) -> CommandResult:
    """Compare the first RUN with each of the others over the same tasks: successes, costs, and their significance.

    Tasks are paired by id, seed and repeat, and every figure is over these pairs. Episodes that broke or were not run
    count as not solved, and are listed separately. Measures of the environment, such as a reward, are compared over the
    pairs that both runs played.

    A difference is significant if p is below 0.05, after Holm's correction if there are several. An interval shows how
    large the difference may be, without correction. Near the threshold the two can disagree; then p decides.
    """
    if len({run.resolve() for run in runs}) < max(2, len(runs)):
        raise BadArgument("compare takes two or more different runs: planbook compare RUN RUN")
    price = load_pricing(prices) if prices else None
    comparisons = compare_all([read_folder(run, price) for run in runs])
    by_letter = {run_letter(number): comparison for number, comparison in enumerate(comparisons, 1)}
    print_parts(console(), comparison_parts(by_letter, run_letter(0)))
    facts = [comparison.model_dump(mode="json") for comparison in comparisons]
    return errors.OK, {"comparisons": facts}


@click.command()
@click.argument("runs", nargs=-1, required=True, type=RUN_FOLDER, metavar="RUN...")
@click.option(
    "--by",
    default="",
    show_default=False,
    metavar="NAME,...",
    help="Show runs with equal values of these settings in one row.",
)
@PRICES
@JSON
def stats(runs: tuple[Path, ...], by: str, prices: Path | None) -> CommandResult:
    """Show runs in one table, with a row for each run or group; a folder adds all runs below it.

    NAME is a setting of run.json, for example planner, env, seed, selection.split or models.default.
    """
    results, unreadable = _read_runs(runs, load_pricing(prices) if prices else None)
    names = split_names(by)
    check_setting_names(names, (run.run.config for run in results))
    rows = group_rows(results, names)
    print_parts(console(), group_parts(rows))
    contradictions = {run.name: faults for run in results if (faults := run.contradictions())}
    for name, faults in contradictions.items():
        for fault in faults:
            ERRORS.print(f"{name} contradicts itself: {fault}", style="red")
    facts = {
        "rows": [row.model_dump(mode="json") for row in rows],
        "unreadable": unreadable,
        "contradictions": contradictions,
    }
    return errors.BROKEN if contradictions else errors.OK, facts


def runs_in(folder: Path) -> list[Path]:
    """Return the folder itself if it is a run, or else all runs below it except those inside other runs."""
    if is_run(folder):
        return [folder]
    nested = sorted(path.parent for path in folder.rglob(CONFIG_FILE))
    return [run for run in nested if not any(parent in run.parents for parent in nested)]


def _read_runs(folders: Iterable[Path], price: Pricing | None) -> tuple[list[RunResults], dict[str, str]]:
    """Read all runs in these folders. Return their results, and a dict that maps unreadable folders to the reasons.

    Raises BadRun if no run can be read.
    """
    results: dict[Path, RunResults] = {}
    unreadable: dict[str, str] = {}
    for folder in folders:
        runs = runs_in(folder)
        if not runs:
            unreadable[str(folder)] = f"there is no run in {folder} or below it"
        for run in runs:
            try:
                results[run.resolve()] = read_folder(run, price)
            except errors.REPORTED_ERRORS as error:
                unreadable[str(run)] = str(error)
            except errors.DAMAGE_ERRORS as error:
                unreadable[str(run)] = str(errors.damaged_run(run, error))
    for reason in unreadable.values():
        ERRORS.print(f"Left out: {reason}", style="yellow")
    if not results:
        raise errors.BadRun("found no run with episodes in an environment that can be read")
    return list(results.values()), unreadable
