"""Renders an episode of any planning method in chronological order, as `planbook show` prints it.

An episode consists of *rounds*; the environment is reset before each round. In a round, pieces of plan code (*cells*)
run one after another, and each action that a cell takes is a *step*. A *rewind* returns to an earlier state of the
round. *Spans* are named sections of the episode that the planning method opens and closes, such as subtasks.
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
"""A text is cut after this many lines or this many characters, whichever comes first."""
INDENT = 2
"""Number of columns by which a nested item is indented."""
DIM, GOOD, BAD, NOTE = "dim", "green", "red", "yellow"
STYLES = {"done": GOOD, "kept": GOOD, "over": GOOD, "failed": BAD, "turned back": BAD, "abandoned": BAD}
"""Maps the status of a span to its style."""
CELL_STYLES = {FeedbackKind.DONE: GOOD, FeedbackKind.UNFINISHED: ""}
"""Maps results of cells to their styles. A result that is missing here is an error, and is shown in the style BAD."""
STEP_LINE = re.compile(rf"\d+\. {AGENT}\..* -> ")
IN_TITLE = frozenset({"title", "done"})
"""Names of span data that are not listed, since the title or the status of the span shows them already."""
RECALL_NAMES = {"text": "knowledge", "rule_ids": "rules"}
"""Maps names of fields of the recalled knowledge to the names that are printed instead."""
Pieces = Iterator[RenderableType]


def text(content: str, style: str = "") -> Text:
    """Return a rich ``Text`` of a model's or environment's text. Control characters and markup in it have no effect."""
    return Text(escape_control(content), style=style, overflow="fold")


def _indented(piece: RenderableType, depth: int = 1) -> RenderableType:
    return Padding(piece, (0, 0, 0, INDENT * depth), expand=False) if depth else piece


def _folded(content: Any, style: str = "", lines: int = SHOWN_LINES) -> Text:
    """Return the beginning of a text. If it is not the whole text, add the number of the remaining characters."""
    content = (content if isinstance(content, str) else repr(content)).strip()
    start = "\n".join(content.splitlines()[:lines])[:SHOWN_CHARS].rstrip()
    left_out = len(content) - len(start)
    return text(start, style).append(f" ... {counted(left_out, 'character')} more" if left_out else "", style=DIM)


def _titled(title: str, content: Text, style: str = DIM) -> Text:
    return Text(overflow="fold").append(f"{escape_control(title)}: ", style=style).append_text(content)


@dataclass
class CellRun:
    """One cell with its steps. ``cell`` is the record made when the cell ended, or None if it has no recorded end."""

    scope: str
    number: int
    steps: Sequence[Step]
    cell: Cell | None
    actions_before: int = 0
    """Number of actions that the episode took before this cell."""

    @property
    def order(self) -> int:
        """The position of the cell's first event, its first step or its end, among the events of the episode."""
        orders = [step.order for step in self.steps] + [self.cell.order if self.cell else None]
        return min(order for order in orders if order is not None)

    @property
    def printed(self) -> list[str]:
        """What the plan printed: first before its first step, then after each step."""
        parts = [step.printed for step in self.steps]
        return [*parts, self.cell.feedback.output[sum(map(len, parts)) :] if self.cell else ""]


def cells_of(round_: Round) -> list[CellRun]:
    """Return the cells of a round, each with its steps."""
    steps: defaultdict[tuple[str, int], list[Step]] = defaultdict(list)
    for step in round_.steps:
        steps[step.scope, step.cell].append(step)
    ended = {(cell.scope, cell.number): cell for cell in round_.cells}
    return [CellRun(*key, steps[key], ended.get(key)) for key in dict.fromkeys([*steps, *ended])]


Item = RecordedRecall | Round | RecordedSpan | Call | CellRun | Rewind


def episode_pieces(trajectory: Trajectory, *, prompts: bool = False) -> Pieces:
    """Yield everything that happened in an episode. If ``prompts`` is true, this includes whole prompts and replies.

    Items are indented below spans. If an item belongs to the scopes of several open spans, the innermost one counts.
    """
    items: list[Item] = [trajectory.recall] if trajectory.recall else []
    items += [*trajectory.rounds, *trajectory.spans, *trajectory.calls]
    for round_ in trajectory.rounds:
        items += [*cells_of(round_), *round_.rewinds]
    step_orders = [step.order or 0 for round_ in trajectory.rounds for step in round_.steps]
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
    """Yield the knowledge that was recalled for the task. The code of helpers is not cut, since no cell contains it."""
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
    """Yield the title and status of a span, followed by those of its data that the title does not contain."""
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
    """Yield a model call: its role, template and tokens. If ``prompts`` is true, add its messages and the reply.

    A message that the previous call in the same scope also contained is replaced by its length.
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
    """Yield a cell: the model's thought, the code, the steps with what the plan printed, and the feedback."""
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
    """Return a table with the numbered lines of the code, followed by the steps in order.

    Next to each step is the number of the line that took it.
    """
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
    """Yield the feedback of a cell, without the lines that describe steps: ``_listing`` shows these."""
    yield Text("ended: ", style=DIM).append(feedback.kind.value, style=CELL_STYLES.get(feedback.kind, BAD))
    yield from (_indented(text(str(fault), BAD)) for fault in feedback.faults)
    other_lines = "\n".join(line for line in feedback.text.splitlines() if not STEP_LINE.match(line))
    if other_lines.strip() and not feedback.faults:
        yield _titled("feedback", _folded(other_lines))


def ending_text(ending: Ending) -> Text:
    """Return one line with the outcome of an episode, its number of actions, its score and its cause."""
    line = text(outcome_of(ending), GOOD if ending.outcome.solved else BAD)
    line.append(f" after {counted(ending.actions, 'action')}, {counted(ending.error_steps, 'error step')}")
    line.append(score_of(ending))
    if cause := cause_of(ending):
        line.append_text(text(f"; {cause}"))
    if ending.message:
        line.append_text(text(f": {ending.message}"))
    return line
