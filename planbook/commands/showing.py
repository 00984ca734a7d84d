"""`planbook show`: one episode of a run, readably in the terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
from rich.console import Console, RenderableType
from rich.text import Text

from planbook import errors
from planbook.console import PLAIN_WIDTH
from planbook.envs import Task
from planbook.errors import BadArgument
from planbook.options import JSON, RUN_FOLDER
from planbook.planner import Ending, Outcome, Trajectory, read_trajectory
from planbook.results import NOT_PLAYED
from planbook.runs import Entry, Run, last_path, recorded_endings
from planbook.spending import prices_from, spent_so_far
from planbook.store import Event
from planbook.terminal.episode import ending_text, episode_pieces, text
from planbook.wording import counted

FAILED = "failed"


@click.command()
@click.argument("run", type=RUN_FOLDER)
@click.argument("episode")
@click.option("--prompts", is_flag=True, help="Show prompts and replies, too.")
@JSON
def show(run: Path, episode: str, prompts: bool, as_json: bool) -> int:
    """Print one EPISODE of RUN: its number from 0, the id of its task, or `failed` for the first not solved."""
    with closing(Run.open(run, graphs=True)) as opened:
        endings = recorded_endings(opened)
        entry = chosen_entry(opened, episode, endings)
        events = list(opened.store.events(entry.path))
        if not events:
            raise BadArgument(f"{entry.task.id} (episode {entry.index}) has not begun; there is nothing to show")
        if as_json:
            click.echo(_trajectory(opened, entry, entry.index in endings).model_dump_json())
            return errors.OK
        out = Console(highlight=False, emoji=False, markup=False, width=_width())
        for piece in _head(entry, endings.get(entry.index), events):
            _print(out, piece)
        _print(out, "")
        for piece in episode_pieces(_trajectory(opened, entry, entry.index in endings, entry.task), prompts=prompts):
            _print(out, piece)
    return errors.OK


def _print(out: Console, piece: RenderableType) -> None:
    """Print a piece; outside a terminal, without trailing blanks."""
    if out.is_terminal:
        out.print(piece)
        return
    with out.capture() as captured:
        out.print(piece)
    click.echo("\n".join(line.rstrip() for line in captured.get().split("\n")), nl=False)


def chosen_entry(run: Run, which: str, endings: dict[int, Ending]) -> Entry:
    """Return the episode of that number, of that task, or the first that failed. Raises BadArgument."""
    entries = run.entries()
    if which == FAILED:
        failed = (each for each in entries if _failed(endings.get(each.index, NOT_PLAYED)))
        if entry := next(failed, None):
            return entry
        raise BadArgument(f"no episode of {run.folder} failed; name one by its number or its task")
    found = [each for each in entries if each.task.id == which]
    if not found and which.isdecimal():
        found = [each for each in entries if each.index == int(which)]
    if not found:
        numbers = f"a number from 0 to {len(entries) - 1}" if len(entries) > 1 else "0"
        raise BadArgument(f"{run.folder} has no episode {which!r}; give {numbers}, a task's id or {FAILED}")
    return found[0]


def _failed(ending: Ending) -> bool:
    return not ending.outcome.solved and ending.outcome is not Outcome.NOT_RUN


def _trajectory(run: Run, entry: Entry, is_over: bool, task: Task | None = None) -> Trajectory:
    """Return the episode as it was last started over. Without a task, raises BadArgument if no round has begun."""
    path = last_path(run, entry) if is_over else entry.path
    try:
        return read_trajectory(path, run.store.events(path), task)
    except LookupError as error:
        raise BadArgument(f"{entry.task.id} (episode {entry.index}) ended before its first round") from error


def _head(entry: Entry, ending: Ending | None, events: list[Event]) -> Iterator[RenderableType]:
    task, cost = entry.task, spent_so_far(events, prices_from(None))
    repeat = f", repeat {entry.repeat}" if entry.repeat else ""
    yield text(f"{task.id}", "bold").append(f"  episode {entry.index}{repeat}", "dim")
    yield text(task.goal)
    yield text(f"type {task.type}, split {task.split}, seed {task.seed}", "dim")
    yield ending_text(ending) if ending else Text("has begun and not ended", style="yellow")
    if cost.calls:
        spent = f"{cost.prompt:,} prompt and {cost.completion:,} completion tokens, {cost.waited:.1f} s of waiting"
        yield text(f"{counted(cost.calls, 'model call')}: {spent}", "dim")


def _width() -> int | None:
    """Return the width of the terminal, also where a pager shows what is printed."""
    if sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return PLAIN_WIDTH
