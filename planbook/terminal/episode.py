"""Render an episode of any planning method in chronological order, for `planbook show`.

An episode consists of *rounds*; the environment is reset before each round. In a round, pieces of plan code (*cells*)
run one after another, and each action that a cell takes is a *step*. A *rewind* returns to an earlier state of the
round. *Spans* are named sections of the episode that the planning method opens and closes, such as subtasks.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import itemgetter
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
    Message,
    Outcome,
    RecordedRecall,
    RecordedSpan,
    Round,
    Step,
    Trajectory,
    format_call,
    without_block_marks,
)
from planbook.wording import cause_text, counted, escape_control, outcome_text, score_text

SHOWN_LINES, SHOWN_CHARS = 4, 400
"""A text is cut after this many lines or this many characters, whichever comes first."""
INDENT = 2
"""Number of columns by which a nested item is indented."""
DIM, GOOD, BAD, NOTE = "dim", "green", "red", "yellow"
STYLES = {"done": GOOD, "kept": GOOD, "over": GOOD, "failed": BAD, "turned back": BAD, "abandoned": BAD}
"""Maps the status of a span to its style."""
CELL_STYLES = {FeedbackKind.DONE: GOOD, FeedbackKind.UNFINISHED: ""}
"""Maps results of cells to their styles. All other results are errors, and have the style BAD."""
STEP_LINE = re.compile(rf"\d+\. {AGENT}\..* -> ")
IN_TITLE = frozenset({"title", "done", "number", "layer", "skipped"})
"""Names of span data that are not listed, since the span's title or status already shows them."""
RECALL_NAMES = {"text": "knowledge", "rule_ids": "rules"}
"""Maps fields of the recalled knowledge to the names under which they are printed."""
Pieces = Iterator[RenderableType]
Item = tuple[int, str, RecordedSpan | Iterable[RenderableType]]
"""Something that happened in an episode: its order, its scope, and either a span or the pieces to print."""


def safe_text(content: str, style: str = "") -> Text:
    """Return a rich ``Text`` for text from a model or environment. Control characters and markup have no effect."""
    return Text(escape_control(content), style=style, overflow="fold")


def _indented(piece: RenderableType, depth: int = 1) -> RenderableType:
    return Padding(piece, (0, 0, 0, INDENT * depth), expand=False) if depth else piece


def _shortened(content: Any, style: str = "", lines: int = SHOWN_LINES) -> Text:
    """Return the beginning of a text. If it is not the whole text, add the number of the remaining characters."""
    content = (content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)).strip()
    start = "\n".join(content.splitlines()[:lines])[:SHOWN_CHARS].rstrip()
    left_out = len(content) - len(start)
    return safe_text(start, style).append(f" ... {counted(left_out, 'character')} more" if left_out else "", style=DIM)


def _titled(title: str, content: Text, style: str = DIM) -> Text:
    return Text(overflow="fold").append(f"{escape_control(title)}: ", style=style).append_text(content)


def episode_pieces(trajectory: Trajectory, *, prompts: bool = False) -> Pieces:
    """Yield everything that happened in an episode. If ``prompts`` is true, this includes whole prompts and replies.

    An item is indented below the innermost open span to which its scope belongs. Nodes of a graph may be asked at the
    same time, so all items of a span come before the next item outside it.
    """
    open_spans = list[tuple[RecordedSpan, tuple[int, ...]]]()
    placed = list[tuple[tuple[int, ...], RecordedSpan | Iterable[RenderableType]]]()
    for order, scope, content in sorted(_items(trajectory, prompts=prompts), key=itemgetter(0)):
        open_spans = [(span, place) for span, place in open_spans if span.end is None or span.end > order]
        place = (*_innermost(open_spans, scope), order)
        if isinstance(content, RecordedSpan):
            open_spans.append((content, place))
        placed.append((place, content))
    for place, content in sorted(placed, key=itemgetter(0)):
        pieces = _span(content) if isinstance(content, RecordedSpan) else content
        yield from (_indented(piece, len(place) - 1) for piece in pieces)
    if trajectory.ending.outcome is not Outcome.NOT_RUN:
        yield Text("Ended: ", style="bold").append_text(ending_text(trajectory.ending))


def _innermost(open_spans: Sequence[tuple[RecordedSpan, tuple[int, ...]]], scope: str) -> tuple[int, ...]:
    """Return the place of the innermost open span that contains ``scope``, or ``()`` if none does.

    A question that is asked again has a new scope, which differs only in its number. Unless another span contains it,
    it belongs to the span of the first question.
    """
    for parts in (0, 1):
        for span, place in reversed(open_spans):
            if f"{scope}/".startswith(f"{span.scope.rsplit('/', parts)[0]}/"):
                return place
    return ()


def _items(trajectory: Trajectory, *, prompts: bool) -> Iterator[Item]:
    """Yield everything that happened in an episode. The caller sorts the items."""
    if recall := trajectory.recall:
        yield recall.order, "", _recalled(recall)
    previous: dict[str, Call] = {}
    for call in trajectory.calls:
        yield call.order, call.scope, _call(call, previous.get(call.scope), prompts=prompts)
        previous[call.scope] = call
    for span in trajectory.spans:
        yield span.order, span.scope, span
    actions = 0
    for round_ in trajectory.rounds:
        yield round_.order, "", [_titled("The environment", _shortened(round_.observation))]
        for rewind in round_.rewinds:
            kept = counted(rewind.kept, "action")
            yield rewind.order, rewind.scope, [Text(f"Rewound to the state after {kept} of the round.", style=NOTE)]
        yield from _cells(round_, actions)
        actions += len(round_.steps)


def _cells(round_: Round, actions_before: int) -> Iterator[Item]:
    """Yield the cells of a round. A cell whose end is not recorded has only steps."""
    steps: defaultdict[tuple[str, int], list[Step]] = defaultdict(list)
    for step in round_.steps:
        steps[step.scope, step.cell].append(step)
    ended = {(cell.scope, cell.number): cell for cell in round_.cells}
    for scope, number in dict.fromkeys([*steps, *ended]):
        cell_steps = steps[scope, number]
        order = (cell_steps[0].order if cell_steps else ended[scope, number].order) or 0
        earlier = actions_before + sum((step.order or 0) < order for step in round_.steps)
        yield order, scope, _cell(number, ended.get((scope, number)), cell_steps, earlier)


def _recalled(recalled: RecordedRecall) -> Pieces:
    """Yield the knowledge recalled for the task. The code of helpers is not shortened, since no cell contains it."""
    fields = recalled.model_dump(mode="json", exclude={"order", "data", "procedure"}, exclude_defaults=True)
    helpers = [fields.pop("helpers", "")]
    if procedure := recalled.procedure:
        fields = {"procedure": f"{procedure.name}: {procedure.summary}", **fields}
        helpers.append(procedure.helpers)
    yield Text("recalled knowledge" if fields or any(helpers) else "recalled knowledge: none", style=DIM)
    for name, value in fields.items():
        content = value if isinstance(value, str) else ", ".join(value) if name != "match" else json.dumps(value)
        yield _indented(_titled(RECALL_NAMES.get(name, name), _shortened(without_block_marks(content), lines=1)))
    yield from (_indented(_titled("helpers", safe_text(f"\n{code.strip()}"))) for code in helpers if code.strip())


def _span(span: RecordedSpan) -> Pieces:
    """Yield the title and status of a span, followed by the parts of its data that the title does not contain."""
    name, status_if_ended = (f"{span.name} by", "none") if span.name == Claim.span else (span.name, "")
    line = Text(f"{name} ", style="bold").append_text(safe_text(span.title, "bold"))
    if status := span.status or ("open" if span.end is None else status_if_ended):
        line.append(": ").append_text(safe_text(status, STYLES.get(status, NOTE)))
    yield line
    for name, value in span.data.items():
        in_title = isinstance(value, str) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", span.title)
        is_empty = value in (None, "", [], {}, False) and (name != "answer" or value is None)
        if name not in IN_TITLE and not is_empty and not in_title:
            yield _indented(_titled(name, _shortened(value, lines=2)))


def _call(call: Call, previous: Call | None, *, prompts: bool) -> Pieces:
    """Yield a model call: its role, template and tokens. If ``prompts`` is true, add its messages and the reply.

    A message that the previous call in the same scope also contained is replaced by its length.
    """
    usage = call.reply.usage
    spent = f"{usage.prompt:,} + {usage.completion:,} tokens"
    spent += ", estimated" if usage.estimated else ""
    spent += "; the reply was stopped" if call.reply.finish == "cut" else ""
    yield safe_text(f"{call.role} was asked {call.template} ({spent})", DIM)
    if not prompts:
        return
    known = {*previous.messages, Message(role="assistant", content=previous.reply.text)} if previous else frozenset()
    for message in call.messages:
        if message in known:
            yield _indented(safe_text(f"{message.role}: as before, {counted(len(message.content), 'character')}", DIM))
        else:
            yield _indented(_titled(message.role, safe_text(message.content)))
    yield _indented(_titled("reply", safe_text(call.reply.text), "bold"))


def _cell(number: int, cell: Cell | None, steps: Sequence[Step], actions_before: int) -> Pieces:
    """Yield a cell: the model's thought, the code, the steps with what the plan printed, and the feedback."""
    title = Text(f"Cell {number}", style="bold")
    if cell is None:
        yield title.append(": its end is not recorded", style=NOTE)
        yield _listing("", steps, "")
        return
    first, last = actions_before + 1, actions_before + len(steps)
    actions = f", actions {first} to {last}" if actions_before and steps else ""
    yield title.append_text(safe_text(f", from {cell.source}{actions}", DIM))
    thought = cell.thought.model_dump(include={"understanding", "mistakes", "rules", "plan"})
    for name, content in (thought if any(thought.values()) else {"thought": cell.thought.text}).items():
        if content.strip():
            yield _titled(name, _shortened(content))
    feedback = cell.feedback
    if cell.code or steps or feedback.output:
        printed_last = feedback.output[sum(len(step.printed) for step in steps) :]
        yield _listing(cell.code, steps, printed_last, {feedback.line, *(fault.line for fault in feedback.faults)})
    yield from _feedback(feedback)
    yield " "


def _listing(code: str, steps: Sequence[Step], printed_last: str, faulty: Collection[int | None] = ()) -> Table:
    """Return a table with the numbered lines of the code, followed by the steps and what the plan printed, in order.

    Next to each step is the number of the line that took it.
    """
    listing = Table.grid(padding=(0, 1))
    listing.add_column(justify="right", style=DIM, no_wrap=True)
    listing.add_column(overflow="fold")
    for number, line in enumerate(code.splitlines(), 1):
        listing.add_row(str(number), safe_text(line, BAD if number in faulty else "bold"))
    last_observation = ""

    def add_printed(printed: str) -> None:
        if printed.strip() not in ("", last_observation.strip()):
            listing.add_row("", _titled("printed", _shortened(printed)))

    for number, step in enumerate(steps, 1):
        add_printed(step.printed)
        listing.add_row(f"line {step.line}" if step.line else "", _step(number, step))
        last_observation = step.observation.text
    add_printed(printed_last)
    return listing


def _step(number: int, step: Step) -> Text:
    observation, style = step.observation, "" if step.observation.accepted else NOTE
    call, result = safe_text(f"{number}. {format_call(step.action)}", "cyan"), _shortened(observation.text, style)
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
    """Yield the feedback of a cell, without the lines about steps, which ``_listing`` shows."""
    yield Text("ended: ", style=DIM).append(feedback.kind.value, style=CELL_STYLES.get(feedback.kind, BAD))
    yield from (_indented(safe_text(str(fault), BAD)) for fault in feedback.faults)
    other_lines = "\n".join(line for line in feedback.text.splitlines() if not STEP_LINE.match(line))
    if other_lines.strip() and not feedback.faults:
        yield _titled("feedback", _shortened(other_lines))


def ending_text(ending: Ending) -> Text:
    """Return one line with the outcome of an episode, its number of actions, its score and its cause."""
    line = safe_text(outcome_text(ending), GOOD if ending.outcome.solved else BAD)
    line.append(f" after {counted(ending.actions, 'action')}, {counted(ending.error_steps, 'error step')}")
    line.append(score_text(ending))
    if cause := cause_text(ending):
        line.append_text(safe_text(f"; {cause}"))
    if ending.message:
        line.append_text(safe_text(f": {ending.message}"))
    return line
