"""What a command prints for people: tables and lines, on standard error where JSON takes standard output."""

import json
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

import click
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from planbook import errors
from planbook.console import ERRORS, right_aligned, table_of
from planbook.outcomes import first_line, in_words, outcome_of, score_of
from planbook.planner import Body, Budget, Cell, Ending, EventKind, Meter, Outcome, Spent
from planbook.planner.strategies import Grid
from planbook.replay import IN_WORDS, describe
from planbook.results import Summary, claim_lines, measure_lines, milestone_lines
from planbook.results.statistics import wilson
from planbook.run import Entry
from planbook.wording import NO_FIGURE, PRICE_UNKNOWN, counted, fixed, harmless, interval

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


def results(summary: Summary, title: str) -> Table | str:
    """Return success by task type with Wilson's interval and mean actions; for one task, a line.

    Broken and not run episodes have columns of their own, if there are any: they are no failures of what played.
    """
    if summary.tasks == 1 and not summary.unplayed:
        actions = counted(round(summary.mean_actions or 0), "action")
        errors = counted(round(summary.mean_error_steps or 0), "error step")
        return f"{title}: 1 task, {'solved' if summary.solved else 'not solved'}; {actions}, {errors}"
    return summary_table(summary, title)


def summary_table(summary: Summary, title: str) -> Table:
    """Return the results by task type."""
    unplayed = ("broken", "not run") if summary.unplayed else ()
    columns = ("solved", *unplayed, "tasks", "%", "95 % interval", "mean actions", "mean error steps")
    table = right_aligned("task type", columns, title=title, long="whole")
    for kind, (solved, tasks) in summary.by_type.items():
        apart = summary.unplayed_by_type.get(kind, (0, 0)) if unplayed else ()
        means = summary.mean_actions_by_type[kind], summary.mean_error_steps_by_type[kind]
        table.add_row(kind, *_cells(solved, apart, tasks, *means))
    table.add_section()
    every = summary.unplayed_by_type.values()
    apart = (sum(broken for broken, _ in every), sum(left for _, left in every)) if unplayed else ()
    means = summary.mean_actions, summary.mean_error_steps
    table.add_row("all", *_cells(summary.solved, apart, summary.tasks, *means), style="bold")
    return table


def episode_line(entry: Entry, ending: Ending, meter: Meter) -> str:
    """Tell how an episode of a long run ended, and what has been spent by then."""
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


def method_parts(summary: Summary) -> Iterator[Table | str]:
    """Tell the method's own figures, the claims, and what the environment measures."""
    for figures in summary.methods.values():
        yield from (table_of(part) if isinstance(part, Grid) else part for part in figures.tell())
    if summary.claims is not None:
        yield from map(harmless, claim_lines(summary.claims))
    yield from measure_lines(summary.measures)
    yield from milestone_parts(summary.milestones, summary.unlock_score)


def milestone_parts(reached: Mapping[str, Mapping[str, tuple[int, int]]], score: float | None) -> Iterator[Table | str]:
    """Tell milestones in a line for each task type; where all milestones are known, as a table with the score."""
    names = {name for things in reached.values() for name in things}
    tables = {kind: things for kind, things in reached.items() if score is not None and kind not in names}
    yield from milestone_lines({kind: things for kind, things in reached.items() if kind not in tables})
    yield from (_milestone_table(kind, things) for kind, things in tables.items())
    if score is not None:
        yield f"Unlock score, over all of them: {score:.2f} %."


def _milestone_table(kind: str, things: Mapping[str, tuple[int, int]]) -> Table:
    """Draw several milestones in a row, to be read column by column."""
    episodes = next(of for _, of in things.values())
    table = Table(title=f"Reached in {kind}, % of {episodes} episodes", title_justify="left")
    for _ in range(SIDE_BY_SIDE):
        table.add_column("milestone", no_wrap=True)
        table.add_column("%", justify="right")
    told = [(thing, f"{count / of:.1%}".rstrip("%")) for thing, (count, of) in things.items()]
    height = -(-len(told) // SIDE_BY_SIDE)
    columns = (told[start : start + height] for start in range(0, len(told), height))
    for row in zip_longest(*columns, fillvalue=("", "")):
        table.add_row(*chain.from_iterable(row))
    return table


def spending_lines(summary: Summary) -> Iterable[str]:
    """Tell the cost of the models, if any was asked."""
    if not summary.model_calls:
        return
    replayed = f", {summary.replayed_calls:,} of them out of a recording" if summary.replayed_calls else ""
    money = PRICE_UNKNOWN if summary.money is None else f"${summary.money:.2f}"
    a_task = f"{summary.model_calls / summary.tasks:.1f} calls and {summary.tokens / summary.tasks:,.0f} tokens a task"
    yield (
        f"{summary.model_calls:,} model calls{replayed}; {summary.prompt_tokens:,} prompt and "
        f"{summary.completion_tokens:,} completion tokens; {money}; {a_task}."
    )
    if summary.reworded_replies:
        replies = counted(summary.reworded_replies, "recorded reply", "recorded replies")
        yield f"{replies} answered prompts whose wording has changed since; --strict-recordings refuses them."
    if summary.shortened_prompts:
        yield f"Cut to fit the context: {counted(summary.shortened_prompts, 'prompt')}; the report shows which."


def stream_line(summary: Summary) -> str:
    """Tell what became of the replies of a run that streamed, and which tokens count."""
    return (
        f"Streamed: {summary.stopped_replies:,} of {counted(summary.model_calls, 'reply', 'replies')} stopped early; "
        "tokens count as far as they had come. A model that cannot be stopped (scripted, exchange, recorded) wrote its "
        "replies whole."
    )


def _of(limit: float | None) -> str:
    return "" if limit is None else f" of {limit:,}"


UNSAFE = "Plans were allowed to run where the kernel cannot confine them (--unsafe-no-sandbox)."


def failure_lines(summary: Summary) -> Iterable[str]:
    """Tell failures by cause, the first errors of broken episodes, and the spread over repeats."""
    if summary.failures:
        causes = ", ".join(f"{in_words(cause)} {count}" for cause, count in summary.failures.items())
        yield f"Not solved, by cause: {causes}."
    if summary.unplayed:
        played = summary.tasks - summary.unplayed
        share = (
            f" of the {played} that were played {summary.solved} were solved ({summary.solved / played:.1%}, 95 % "
            f"interval {interval(*wilson(summary.solved, played))})"
            if played
            else " none was played to its end"
        )
        yield (
            f"Broken (our fault or the world's, not the plan's) and not run count as not solved: {summary.unplayed} of "
            f"{summary.tasks};{share}."
        )
    for task_id, message in list(summary.unjudged_messages.items())[:SHOWN_BROKEN]:
        yield f"Not judged here, and not counted as solved: {task_id}; {harmless(message)}"
    if (more := len(summary.unjudged_messages) - SHOWN_BROKEN) > 0:
        yield f"... and {more} more that were not judged."
    for task_id, message in list(summary.broken_messages.items())[:SHOWN_BROKEN]:
        yield f"Broken: {task_id}: {harmless(first_line(message))}"
    if (more := summary.broken - SHOWN_BROKEN) > 0:
        yield f"... and {more} more that were broken."
    if summary.unjudgeable:
        tasks = counted(sum(summary.unjudgeable.values()), "more task")
        yield f"Not played and not counted, as nothing here can judge them: {tasks} of the selection."
        yield from (f"  {number}: {harmless(reason)}" for reason, number in summary.unjudgeable.items())
    if summary.left_out:
        yield f"Left out, as their type was solved often enough in a row: {summary.left_out}."
    if summary.spread is not None:
        counts = ", ".join(map(str, summary.solved_by_repeat))
        yield f"Solved in each of {summary.repeats} repeats: {counts}; standard deviation {summary.spread:.1%}."


def _cells(
    solved: int, unplayed: Sequence[int], tasks: int, mean_actions: float | None, error_steps: float | None
) -> list[str]:
    if not tasks:
        return ["0", *map(str, unplayed), "0", "-", "-", "-", "-"]
    within = NO_FIGURE if any(unplayed) else interval(*wilson(solved, tasks))
    counts = [str(solved), *map(str, unplayed), str(tasks)]
    return [*counts, f"{solved / tasks:.1%}", within, fixed(mean_actions, 1), fixed(error_steps, 2)]


SIDE_BY_SIDE = 3
"""Milestones in a row of the table."""


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
