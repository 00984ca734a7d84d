"""One episode of any planning method, in the order of time, as `planbook show` prints it.

An episode consists of rounds, each of which follows a reset of the environment. In a round, plan code runs in *cells*,
and each action that a cell takes is a *step*. *Spans* are the parts that a method names, such as subtasks and graph
nodes. A *rewind* returns to an earlier state of the round.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planbook.planner import (
    AGENT,
    Call,
    Cell,
    Claim,
    Ending,
    Feedback,
    FeedbackKind,
    Outcome,
    RecordedRecall,
    RecordedSpan,
    Rewind,
    Round,
    Step,
    Trajectory,
    format_call,
    without_block_marks,
)
from planbook.wording import cause_of, counted, escape_control, outcome_of, score_of

SHOWN_LINES, SHOWN_CHARS = 4, 400
"""Number of lines and characters after which a text is cut."""
INDENT = 2
"""Columns of indentation."""
DIM, GOOD, BAD, NOTE = "dim", "green", "red", "yellow"
STYLES = {"done": GOOD, "kept": GOOD, "over": GOOD, "failed": BAD, "turned back": BAD, "abandoned": BAD}
"""Maps the status of a span to its style."""
CELL_STYLES = {FeedbackKind.DONE: GOOD, FeedbackKind.UNFINISHED: ""}
"""Maps the result of a cell to its style. All other results are errors."""
STEP_LINE = re.compile(rf"\d+\. {AGENT}\..* -> ")
IN_TITLE = frozenset({"title", "done"})
"""Data of spans that is not listed, since the title or the status shows it."""
RECALL_NAMES = {"text": "knowledge", "rule_ids": "rules"}
"""Maps fields of the recalled knowledge to the names that are shown for them."""
Pieces = Iterator[RenderableType]


def text(content: str, style: str = "") -> Text:
    """Return text from a model or an environment, in which control characters and markup have no effect."""
    return Text(escape_control(content), style=style, overflow="fold")


def _indented(piece: RenderableType, depth: int = 1) -> RenderableType:
    return Padding(piece, (0, 0, 0, INDENT * depth), expand=False) if depth else piece


def _folded(content: Any, style: str = "", lines: int = SHOWN_LINES) -> Text:
    """Return the first lines of a text, followed by the number of characters that were left out."""
    content = (content if isinstance(content, str) else repr(content)).strip()
    start = "\n".join(content.splitlines()[:lines])[:SHOWN_CHARS].rstrip()
    left_out = len(content) - len(start)
    return text(start, style).append(f" ... {counted(left_out, 'character')} more" if left_out else "", style=DIM)


def _titled(title: str, content: Text, style: str = DIM) -> Text:
    return Text(overflow="fold").append(f"{escape_control(title)}: ", style=style).append_text(content)


@dataclass
class CellRun:
    """One cell with its steps. ``cell`` is None if its end was not recorded."""

    scope: str
    number: int
    steps: Sequence[Step]
    cell: Cell | None
    actions_before: int = 0
    """Number of actions that the episode took before this cell."""

    @property
    def order(self) -> int:
        """The position, among the episode's events, of the cell's first step, or of its end if it took no step."""
        orders = [step.order for step in self.steps] + [self.cell.order if self.cell else None]
        return min(order for order in orders if order is not None)

    @property
    def printed(self) -> list[str]:
        """The plan's output before its first step and after each step."""
        parts = [step.printed for step in self.steps]
        return [*parts, self.cell.feedback.output[sum(map(len, parts)) :] if self.cell else ""]


def cells_of(played: Round) -> list[CellRun]:
    """Return the cells of a round, each with its steps."""
    steps: defaultdict[tuple[str, int], list[Step]] = defaultdict(list)
    for step in played.steps:
        steps[step.scope, step.cell].append(step)
    ended = {(cell.scope, cell.number): cell for cell in played.cells}
    return [CellRun(*key, steps[key], ended.get(key)) for key in dict.fromkeys([*steps, *ended])]


Item = RecordedRecall | Round | RecordedSpan | Call | CellRun | Rewind


def episode_pieces(trajectory: Trajectory, *, prompts: bool = False) -> Pieces:
    """Yield everything that happened in an episode; with ``prompts``, also whole prompts and replies.

    An item is indented below the innermost span that is open at that time and to whose scope it belongs.
    """
    items: list[Item] = [trajectory.recall] if trajectory.recall else []
    items += [*trajectory.rounds, *trajectory.spans, *trajectory.calls]
    for played in trajectory.rounds:
        items += [*cells_of(played), *played.rewinds]
    step_orders = [step.order or 0 for played in trajectory.rounds for step in played.steps]
    open_spans, prompts_by_scope = list[tuple[RecordedSpan, int]](), dict[str, set[tuple[str, str]]]()
    for item in sorted(items, key=lambda item: item.order):
        open_spans = [(span, depth) for span, depth in open_spans if span.end is None or span.end > item.order]
        scope = f"{getattr(item, 'scope', '')}/"
        depth = next((level + 1 for span, level in reversed(open_spans) if scope.startswith(f"{span.scope}/")), 0)
        if isinstance(item, RecordedSpan):
            open_spans.append((item, depth))
        if isinstance(item, CellRun):
            item.actions_before = sum(order < item.order for order in step_orders)
        pieces = _call(item, prompts_by_scope, prompts=prompts) if isinstance(item, Call) else _render(item)
        yield from (_indented(piece, depth) for piece in pieces)
    if trajectory.ending.outcome is not Outcome.NOT_RUN:
        yield Text("Ended: ", style="bold").append_text(ending_text(trajectory.ending))


def _render(item: Item) -> Pieces:
    if isinstance(item, RecordedSpan):
        yield from _span(item)
    elif isinstance(item, CellRun):
        yield from _cell(item)
    elif isinstance(item, Rewind):
        yield Text(f"Rewound to the state after {counted(item.kept, 'action')} of the round.", style=NOTE)
    elif isinstance(item, Round):
        yield _titled("The environment", _folded(item.observation))
    elif isinstance(item, RecordedRecall):
        yield from _recalled(item)


def _recalled(recalled: RecordedRecall) -> Pieces:
    """Yield the knowledge that was recalled for the task. Helpers are shown whole, since no cell contains them."""
    fields = recalled.model_dump(mode="json", exclude={"order", "data", "procedure"}, exclude_defaults=True)
    helpers = [fields.pop("helpers", "")]
    if procedure := recalled.procedure:
        fields = {"procedure": f"{procedure.name}: {procedure.summary}", **fields}
        helpers.append(procedure.helpers)
    yield Text("known before" if fields or any(helpers) else "known before: nothing", style=DIM)
    for name, value in fields.items():
        content = value if isinstance(value, str) else ", ".join(value) if name != "match" else json.dumps(value)
        yield _indented(_titled(RECALL_NAMES.get(name, name), _folded(without_block_marks(content), lines=1)))
    yield from (_indented(_titled("helpers", text(f"\n{code.strip()}"))) for code in helpers if code.strip())


def _span(span: RecordedSpan) -> Pieces:
    """Yield the title and status of a span, then its data."""
    name, ended = (f"{span.name} by", "none") if span.name == Claim.span else (span.name, "")
    line = Text(f"{name} ", style="bold").append_text(text(span.title, "bold"))
    if status := span.status or ("open" if span.end is None else ended):
        line.append(": ").append_text(text(status, STYLES.get(status, NOTE)))
    yield line
    for name, value in span.data.items():
        in_title = isinstance(value, str) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", span.title)
        if name not in IN_TITLE and value not in (None, "", [], {}, False) and not in_title:
            yield _indented(_titled(name, _folded(value, lines=2)))


def _call(call: Call, prompts_by_scope: dict[str, set[tuple[str, str]]], *, prompts: bool) -> Pieces:
    """Yield a model call: its role, template and tokens; with ``prompts``, also its messages and the reply.

    A message that the previous call in the same scope contained is only mentioned.
    """
    usage = call.reply.usage
    spent = f"{usage.prompt:,} + {usage.completion:,} tokens"
    spent += ", estimated" if usage.estimated else ""
    spent += "; the reply was stopped" if call.reply.finish == "cut" else ""
    yield text(f"{call.role} was asked {call.template} ({spent})", DIM)
    previous = prompts_by_scope.get(call.scope, set())
    messages = [(message.role, message.content) for message in call.messages]
    prompts_by_scope[call.scope] = {*messages, ("assistant", call.reply.text)}
    if prompts:
        for role, content in messages:
            repeated = text(f"{role}: as before, {counted(len(content), 'character')}", DIM)
            yield _indented(repeated if (role, content) in previous else _titled(role, text(content)))
        yield _indented(_titled("reply", text(call.reply.text), "bold"))


def _cell(run: CellRun) -> Pieces:
    """Yield a cell: the thought behind it, its code with the steps, its last output, and the feedback."""
    cell = run.cell
    title = Text(f"Cell {run.number}", style="bold")
    if cell is None:
        yield title.append(": its end is not recorded", style=NOTE)
        yield _listing("", run)
        return
    first, last = run.actions_before + 1, run.actions_before + len(run.steps)
    actions = f", actions {first} to {last}" if run.actions_before and run.steps else ""
    yield title.append_text(text(f", from {cell.source}{actions}", DIM))
    thought = cell.thought.model_dump(include={"understanding", "mistakes", "rules", "plan"})
    for name, content in (thought if any(thought.values()) else {"thought": cell.thought.text}).items():
        if content.strip():
            yield _titled(name, _folded(content))
    if cell.code or run.steps:
        yield _listing(cell.code, run)
    if run.printed[-1].strip() and not run.steps:
        yield _titled("printed", _folded(run.printed[-1]))
    yield from _feedback(cell.feedback)
    yield " "


def _listing(code: str, run: CellRun) -> Table:
    """Return a table of the code, then of its steps in order, each with its line of the code."""
    listing = Table.grid(padding=(0, 1))
    listing.add_column(justify="right", style=DIM, no_wrap=True)
    listing.add_column(overflow="fold")
    faulty = {fault.line for fault in run.cell.feedback.faults} | {run.cell.feedback.line} if run.cell else set()
    for number, line in enumerate(code.splitlines(), 1):
        listing.add_row(str(number), text(line, BAD if number in faulty else "bold"))
    if run.steps and run.printed[0].strip():
        listing.add_row("", _titled("printed", _folded(run.printed[0])))
    for number, (step, output) in enumerate(zip(run.steps, run.printed[1:], strict=True), 1):
        content = _step(number, step)
        if output.strip() and output.strip() != step.observation.text.strip():
            content.append("\n").append_text(_titled("printed", _folded(output)))
        listing.add_row(f"line {step.line}" if step.line else "", content)
    return listing


def _step(number: int, step: Step) -> Text:
    observation, style = step.observation, "" if step.observation.accepted else NOTE
    call, result = text(f"{number}. {format_call(step.action)}", "cyan"), _folded(observation.text, style)
    line = call.append(" -> ", DIM).append_text(result)
    flags = {
        "no effect": not observation.accepted,
        "not counted": not step.counted,
        "undone": step.undone,
        "lasting": observation.lasting,
        "episode over": observation.terminated,
        "cut short by the environment": observation.truncated,
    }
    if present := [flag for flag, applies in flags.items() if applies]:
        line.append(f" ({', '.join(present)})", style or DIM)
    return Text(line.plain, style=DIM, overflow="fold") if step.undone else line


def _feedback(feedback: Feedback) -> Pieces:
    """Yield the feedback without its lines about steps, which are shown with the steps."""
    yield Text("ended: ", style=DIM).append(feedback.kind.value, style=CELL_STYLES.get(feedback.kind, BAD))
    yield from (_indented(text(str(fault), BAD)) for fault in feedback.faults)
    other_lines = "\n".join(line for line in feedback.text.splitlines() if not STEP_LINE.match(line))
    if other_lines.strip() and not feedback.faults:
        yield _titled("feedback", _folded(other_lines))


def ending_text(ending: Ending) -> Text:
    """Return the outcome of an episode, and its cause, in one line."""
    line = text(outcome_of(ending), GOOD if ending.outcome.solved else BAD)
    line.append(f" after {counted(ending.actions, 'action')}, {counted(ending.error_steps, 'error step')}")
    line.append(score_of(ending))
    if cause := cause_of(ending):
        line.append_text(text(f"; {cause}"))
    if ending.message:
        line.append_text(text(f": {ending.message}"))
    return line
