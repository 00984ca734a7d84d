"""What a command prints for people: tables and progress, on standard error where JSON takes standard output."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from planbook.statistics import wilson
from planbook.summary import Summary
from planner import Body, Cell, Ending, EventKind, Step

SHOWN_BROKEN = 3
PLAIN_WIDTH = 110
"""Columns where the output is no terminal."""


def _width(stream: TextIO) -> int | None:
    return None if stream.isatty() else PLAIN_WIDTH


ERRORS = Console(stderr=True, highlight=False, width=_width(sys.stderr))


def console(json: bool) -> Console:
    """Where tables go: standard output, or standard error when JSON ends standard output."""
    return ERRORS if json else Console(highlight=False, width=_width(sys.stdout))


def progress() -> Progress:
    """A bar with the successes so far, on standard error; silent where that is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("[green]{task.fields[solved]} solved"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=ERRORS,
        disable=not ERRORS.is_terminal,
    )


def summary_table(summary: Summary, title: str) -> Table:
    """Success by task type with the Wilson interval, and the mean number of actions."""
    table = Table(title=title, title_justify="left")
    table.add_column("task type", no_wrap=True)
    for column in ("solved", "tasks", "%", "95 % interval", "mean actions"):
        table.add_column(column, justify="right")
    for kind, (solved, tasks) in summary.by_type.items():
        table.add_row(kind, *_cells(solved, tasks, summary.mean_actions_by_type[kind]))
    table.add_section()
    table.add_row("all", *_cells(summary.solved, summary.tasks, summary.mean_actions), style="bold")
    return table


def failure_lines(summary: Summary) -> Iterable[str]:
    """The failures by cause, some of what broke, and the spread over repeats."""
    if summary.failures:
        causes = ", ".join(f"{cause} {count}" for cause, count in summary.failures.items())
        yield f"Not solved, by cause: {causes}."
    for task_id, message in list(summary.broken_messages.items())[:SHOWN_BROKEN]:
        yield f"Broken: {task_id}: {message}"
    if (more := summary.broken - SHOWN_BROKEN) > 0:
        yield f"... and {more} more."
    if summary.spread is not None:
        counts = ", ".join(map(str, summary.solved_by_repeat))
        yield f"Solved in each of {summary.repeats} repeats: {counts}; standard deviation {summary.spread:.1%}."


def _cells(solved: int, tasks: int, mean_actions: float | None) -> list[str]:
    low, high = wilson(solved, tasks)
    actions = "-" if mean_actions is None else f"{mean_actions:.1f}"
    return [str(solved), str(tasks), f"{solved / tasks:.1%}", f"{low:.1%} to {high:.1%}", actions]


class Live:
    """Prints the events of an episode as they happen."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def __call__(self, kind: EventKind, body: Body) -> None:
        """Print one event, if it is of a kind that a reader follows."""
        if tell := self.TELL.get(kind):
            self._out.print(tell(body), markup=False, soft_wrap=True)

    @staticmethod
    def _task(body: Any) -> str:
        return f"{body['task']['id']}: {body['task']['goal']}\n{body['observation']['text']}"

    @staticmethod
    def _act(body: Any) -> str:
        step = Step.model_validate(body)
        return f"  line {step.line}: agent.{step.action} -> {step.observation.text}"

    @staticmethod
    def _cell(body: Any) -> str:
        cell = Cell.model_validate(body)
        printed = f"  printed: {cell.feedback.output.rstrip()}\n" if cell.feedback.output.strip() else ""
        faults = "".join(f"\n  {fault}" for fault in cell.feedback.faults)
        return f"{printed}{cell.source}: {cell.feedback.kind}{faults}"

    @staticmethod
    def _outcome(body: Any) -> str:
        ending = Ending.model_validate(body)
        why = f" ({ending.message or ending.cause})" if ending.cause else ""
        return f"{ending.outcome}{why} after {ending.actions} actions"

    TELL: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "task": _task,
        "act": _act,
        "cell": _cell,
        "outcome": _outcome,
    }
