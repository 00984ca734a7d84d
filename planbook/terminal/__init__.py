"""Terminal output for people: tables, lines, progress and errors.

With ``--json``, all of it goes to standard error. ``episode`` renders one episode for `planbook show`.
"""

import errno
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os.path import isfile  # returns False if a string is too long for a path; the methods of Path raise

import click
from rich import live
from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from planbook import errors
from planbook.console import ERRORS, print_json, table_of
from planbook.planner import Body, Budget, Cell, Ending, EventKind, Grid, Meter, Outcome, Spending
from planbook.runs import CONFIG_FILE, EpisodeEntry, Run
from planbook.wording import (
    DESCRIBE_BY_KIND,
    counted,
    describe_event,
    format_clock,
    format_money,
    in_words,
    outcome_text,
    score_text,
)
from planbook.workers.control import call_every

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Error numbers of failed writes: the disk is full or read-only, or a quota or the maximum file size is exceeded."""
SHOWN_CHARS = 2_000
"""Maximum number of characters shown of the text that a plan prints between two events."""


def report_error(error: Exception) -> int | None:
    """Print an error that planbook reports, and return its exit code. For any other error, only return None."""
    runs = [argument for argument in sys.argv[1:] if isfile(f"{argument}/{CONFIG_FILE}")]
    if runs and errors.may_be_damage(error):
        error = errors.damaged_run(" or ".join(runs), error)
    if isinstance(error, click.exceptions.Abort):  # Ctrl-C
        ERRORS.print("Stopped.")
        return errors.INTERRUPTED
    if isinstance(error, errors.REPORTED_ERRORS):
        ERRORS.print(f"planbook: {error}", style="red")
        if "--json" in sys.argv:
            print_json({"error": str(error)})
        return errors.exit_code(error)
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        location = f" to {error.filename}" if error.filename else ""
        advice = "make room or choose another folder, then run it again"
        ERRORS.print(f"planbook: nothing more can be written{location}: {error.strerror}; {advice}")
        return errors.BROKEN
    return None


def print_parts(out: Console, parts: Iterable[Table | Grid | str]) -> None:
    """Print tables, grids and lines of text, one after another."""
    for part in parts:
        out.print(table_of(part) if isinstance(part, Grid) else part)


def episode_line(entry: EpisodeEntry, ending: Ending, meter: Meter) -> str:
    """Return a line with the outcome of an episode, and the run's spending so far."""
    result = f"{outcome_text(ending)}, {counted(ending.actions, 'action')}{score_text(ending)}"
    if ending.outcome is Outcome.NOT_RUN:
        result = in_words(ending.cause)
    return f"Episode {entry.index}, {entry.task.id}: {result} ({describe_spending(meter.spent, meter.budget)})"


def describe_spending(spent: Spending, budget: Budget) -> str:
    """Describe what was spent: "12 of 100 calls, 3,456 tokens". An amount is followed by its limit in the budget."""
    parts = [_amount(spent.calls, budget.calls, "call"), _amount(spent.tokens, budget.tokens, "token")]
    if spent.money != 0:
        limit = "" if budget.money is None or spent.money is None else f" of {format_money(budget.money)}"
        parts.append(f"{format_money(spent.money)}{limit}")
    return ", ".join(parts)


def _amount(number: int, limit: int | None, noun: str) -> str:
    return counted(number, noun) if limit is None else f"{number:,} of {counted(limit, noun)}"


class EventPrinter:
    """Prints the events of episodes, and the text that plans print, as they happen."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._shown_chars = 0

    def __call__(self, kind: EventKind, body: Body) -> None:
        """Print the text that the plan printed before this event, and the event's description, if it has one."""
        if kind == "act":
            self._print(str(body["printed"]))
        if kind == "cell":
            self._print(Cell.model_validate(body).feedback.output[self._shown_chars :])
            self._shown_chars = 0
        if kind in DESCRIBE_BY_KIND:
            self._out.print(describe_event(kind, body))

    def _print(self, text: str) -> None:
        self._shown_chars += len(text)
        if text:
            more = f"\n... {len(text) - SHOWN_CHARS:,} more characters, in the run" if len(text) > SHOWN_CHARS else ""
            self._out.print(f"  printed: {text[:SHOWN_CHARS].rstrip()}{more}")


LINE_INTERVAL = 30.0
"""Seconds between two lines of progress, if the output is not a terminal."""
BAR_REFRESHES = 4
"""Updates of the progress bar per second."""
BAR_WIDTH = 30
"""Width of the progress bar in columns."""


class Progress:
    """Shows the progress of a run: episodes, successes, spending, and the time left.

    ``endings`` are the endings recorded in earlier invocations. ``paused`` returns True while the run is paused.
    """

    def __init__(self, run: Run, title: str, total: int, endings: Iterable[Ending], paused: Callable[[], bool]) -> None:
        self._run, self._title, self._total, self._paused = run, title, total, paused
        self._endings = list(endings)
        self._seconds_before, self._ended_before = run.meter.spent.seconds, len(self._endings)

    def count(self, ending: Ending) -> None:
        """Add the ending of an episode."""
        self._endings.append(ending)

    @contextmanager
    def show(self, out: Console = ERRORS, interval: float = LINE_INTERVAL) -> Iterator[None]:
        """Show the progress until the ``with`` block ends, unless the console is quiet.

        A terminal shows a bar; any other output gets a line every ``interval`` seconds.
        """
        if out.quiet:
            yield
            return
        if out.is_terminal:
            with live.Live(get_renderable=self.bar, console=out, refresh_per_second=BAR_REFRESHES):
                yield
            return
        printed = list[str]()

        def print_line() -> None:
            printed.append(self.line())
            out.print(printed[-1])

        try:
            with call_every(interval, print_line):
                yield
        finally:
            if printed:
                print_line()

    def bar(self) -> RenderableType:
        """Return the text of ``line`` with a progress bar below it."""
        return Group(Text(self.line()), ProgressBar(self._total, len(self._endings), width=BAR_WIDTH))

    def line(self) -> str:
        """Return the progress in one plain line."""
        outcomes = [ending.outcome for ending in self._endings]
        solved, broken = sum(outcome.solved for outcome in outcomes), outcomes.count(Outcome.BROKEN)
        share = f" ({solved / len(outcomes):.1%})" if outcomes else ""
        episodes = "episodes with their learning" if self._run.config.learning else "episodes"
        counts = f"{len(outcomes)}/{self._total} {episodes}, {solved} solved{share}"
        if broken:
            counts = f"{counts}, {broken} broken"
        state = ["paused (continue in planbook watch)"] if self._paused() else []
        return "; ".join([f"{self._title}: {counts}", *state, *self._figures()])

    def _figures(self) -> Iterator[str]:
        spent, ended = self._run.meter.spent, len(self._endings) - self._ended_before
        if spent.calls:
            yield describe_spending(spent, self._run.meter.budget)
        elapsed = spent.seconds - self._seconds_before  # of this invocation, without pauses
        yield f"{format_clock(elapsed)} elapsed"
        if remaining := self._total - len(self._endings):
            yield f"about {format_clock(elapsed / ended * remaining)} left" if ended else "- left"
