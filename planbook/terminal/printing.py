"""Output of commands for people: tables and lines, on standard error where JSON takes standard output."""

import json
import logging
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from planbook import errors
from planbook.console import ERRORS, table_of
from planbook.outcomes import in_words, outcome_of, score_of
from planbook.planner import Body, Budget, Cell, Ending, EventKind, Grid, Meter, Outcome, Spent
from planbook.replay import IN_WORDS, describe
from planbook.results import Summary, results_table
from planbook.runs import Entry
from planbook.wording import PRICE_UNKNOWN, counted, harmless

SHOWN_BROKEN = 3
SHOWN_CHARS = 2_000


class _ToErrors(logging.Handler):
    """Prints log records for people, above the progress bar where there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        style = "yellow" if record.levelno >= logging.WARNING else "dim"
        ERRORS.print(harmless(self.format(record)), style=style, soft_wrap=True)


_TO_ERRORS = _ToErrors()


def show_log(*packages: str) -> None:
    """Print what packages log."""
    for package in packages:
        log = logging.getLogger(package)
        log.addHandler(_TO_ERRORS)  # a second time adds nothing
        log.setLevel(logging.INFO)


def answer(code: int, result: BaseModel | Mapping[str, Any], *, as_json: bool) -> int:
    """End standard output with the one object that ``--json`` promises; return the exit code as given."""
    if as_json:
        value = json.loads(result.model_dump_json()) if isinstance(result, BaseModel) else result
        click.echo(json.dumps(value, separators=(",", ":")))  # in ASCII, whatever the terminal can show
    return code


def code_of(error: BaseException) -> int | None:
    """Print an error of ours and return its exit code; return None for any other."""
    if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
        ERRORS.print("Stopped.")
        return errors.INTERRUPTED
    if isinstance(error, errors.REPORTED):
        ERRORS.print(f"planbook: {error}", style="red", markup=False, soft_wrap=True)
        return answer(errors.exit_code(error), {"error": str(error)}, as_json="--json" in sys.argv)
    return None


def print_parts(out: Console, parts: Iterable[Table | Grid | str]) -> None:
    """Print tables and lines; text of models and environments steers nothing."""
    for part in parts:
        shown = table_of(part, long="folded") if isinstance(part, Grid) else part
        out.print(harmless(shown) if isinstance(shown, str) else shown, markup=False, soft_wrap=isinstance(shown, str))


def results(summary: Summary, title: str) -> Grid | str:
    """Return success by task type; for one task, a line."""
    if summary.tasks == 1 and not summary.unplayed:
        actions = counted(round(summary.mean_actions or 0), "action")
        errors = counted(round(summary.mean_error_steps or 0), "error step")
        return f"{title}: 1 task, {'solved' if summary.solved else 'not solved'}; {actions}, {errors}"
    return results_table(summary, title)


def episode_line(entry: Entry, ending: Ending, meter: Meter) -> str:
    """Return how an episode of a long run ended, and what has been spent by then."""
    how = f"{outcome_of(ending)}, {counted(ending.actions, 'action')}{score_of(ending)}"
    if ending.outcome is Outcome.NOT_RUN:
        how = in_words(ending.cause)
    return f"Episode {entry.index}, {entry.task.id}: {how} ({spending(meter.spent, meter.budget)})"


def spending(spent: Spent, budget: Budget) -> str:
    """Return what has been spent, and the limits."""
    parts = [f"{spent.calls:,}{_of(budget.calls)} calls", f"{spent.tokens:,}{_of(budget.tokens)} tokens"]
    if spent.money is None:
        parts.append(PRICE_UNKNOWN)
    elif spent.money:
        parts.append(f"${spent.money:.2f}{_of(budget.money)}")
    return ", ".join(parts)


def stream_line(summary: Summary) -> str:
    """Return what became of the replies of a run that streamed, and which tokens count."""
    return (
        f"Streamed: {summary.stopped_replies:,} of {counted(summary.model_calls, 'reply', 'replies')} stopped early; "
        "tokens count as far as they had come. A model that cannot be stopped (scripted, exchange, recorded) wrote its "
        "replies whole."
    )


def _of(limit: float | None) -> str:
    return "" if limit is None else f" of {limit:,}"


class Live:
    """Prints the events of one episode after the other as they happen, with what the plan printed in between."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._shown = 0

    def __call__(self, kind: EventKind, body: Body) -> None:
        """Print one event, if it is of a kind that a reader follows."""
        if kind == "act":
            self._print(str(body["printed"]))
        if kind == "cell":
            self._print(Cell.model_validate(body).feedback.output[self._shown :])
            self._shown = 0
        if kind in IN_WORDS:
            self._out.print(harmless(describe(kind, body)), soft_wrap=True)

    def _print(self, text: str) -> None:
        self._shown += len(text)
        if text:
            cut = f"\n... {len(text) - SHOWN_CHARS:,} characters more, in the run" if len(text) > SHOWN_CHARS else ""
            self._out.print(f"  printed: {harmless(text[:SHOWN_CHARS].rstrip())}{cut}", soft_wrap=True)
