"""One episode in the order of time, as it is printed by `planbook show`, whatever the method."""

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
    Ending,
    Feedback,
    FeedbackKind,
    Outcome,
    Recalled,
    RecordedSpan,
    Rewind,
    Round,
    Step,
    Trajectory,
    call_of,
)
from planbook.wording import counted, harmless, in_words, outcome_of, score_of

FIRST_LINES, FIRST_CHARS = 4, 400
"""Lines and characters that are shown of folded text."""
DEEPER = 2
"""Columns of indentation."""
DIM, GOOD, BAD, NOTE = "dim", "green", "red", "yellow"
STYLES = {"done": GOOD, "kept": GOOD, "over": GOOD, "failed": BAD, "turned back": BAD, "abandoned": BAD}
"""Styles of the states of spans."""
CELL_STYLES = {FeedbackKind.DONE: GOOD, FeedbackKind.UNFINISHED: ""}
"""Styles of the ways in which a cell can end; the others are errors."""
OF_A_STEP = re.compile(rf"\d+\. {AGENT}\..* -> ")
SHOWN = frozenset({"title", "done"})
"""Fields of spans that the title and the status say already."""
IN_RECALL = {"text": "knowledge", "rule_ids": "rules"}
"""Names of fields of what was known."""
Pieces = Iterator[RenderableType]


def text(content: str, style: str = "") -> Text:
    """Return text of a model or an environment so that nothing in it steers the terminal or is markup."""
    return Text(harmless(content), style=style, overflow="fold")


def _deeper(what: RenderableType, depth: int = 1) -> RenderableType:
    return Padding(what, (0, 0, 0, DEEPER * depth), expand=False) if depth else what


def _folded(content: Any, style: str = "", lines: int = FIRST_LINES) -> Text:
    """Return the first lines, and how much is left out."""
    content = (content if isinstance(content, str) else repr(content)).strip()
    shown = "\n".join(content.splitlines()[:lines])[:FIRST_CHARS].rstrip()
    left = len(content) - len(shown)
    return text(shown, style).append(f" ... {counted(left, 'character')} more" if left else "", style=DIM)


def _titled(title: str, content: Text, style: str = DIM) -> Text:
    return Text(overflow="fold").append(f"{harmless(title)}: ", style=style).append_text(content)


@dataclass
class CellRun:
    """A run of plan code with its steps; ``cell`` is None where the record ends before the cell did."""

    scope: str
    number: int
    steps: Sequence[Step]
    cell: Cell | None
    before: int = 0
    """Number of actions that the episode had taken before it."""

    @property
    def order(self) -> int:
        """The moment of its first step, or of its end where it took none."""
        orders = [step.order for step in self.steps] + [self.cell.order if self.cell else None]
        return min(order for order in orders if order is not None)

    @property
    def printed(self) -> list[str]:
        """The plan's output before its first step and after each, to its end."""
        before = [step.printed for step in self.steps]
        return [*before, self.cell.feedback.output[sum(map(len, before)) :] if self.cell else ""]


def cells_of(played: Round) -> list[CellRun]:
    """Return the cells of a round, each with its steps."""
    steps: defaultdict[tuple[str, int], list[Step]] = defaultdict(list)
    for step in played.steps:
        steps[step.scope, step.cell].append(step)
    ended = {(cell.scope, cell.number): cell for cell in played.cells}
    return [CellRun(*place, steps[place], ended.get(place)) for place in dict.fromkeys([*steps, *ended])]


Thing = Recalled | Round | RecordedSpan | Call | CellRun | Rewind


def episode_pieces(trajectory: Trajectory, *, prompts: bool = False) -> Pieces:
    """Give everything that happened; with ``prompts``, prompts and replies whole.

    What happens is indented below the innermost span that is open then, in whose scope it is.
    """
    things: list[Thing] = [trajectory.recall] if trajectory.recall else []
    things += [*trajectory.rounds, *trajectory.spans, *trajectory.calls]
    for each in trajectory.rounds:
        things += [*cells_of(each), *each.rewinds]
    every = [step.order or 0 for each in trajectory.rounds for step in each.steps]
    open_spans, said = list[tuple[RecordedSpan, int]](), dict[str, set[tuple[str, str]]]()
    for thing in sorted(things, key=lambda each: each.order):
        open_spans = [(span, depth) for span, depth in open_spans if span.end is None or span.end > thing.order]
        scope = f"{getattr(thing, 'scope', '')}/"
        depth = next((at + 1 for span, at in reversed(open_spans) if scope.startswith(f"{span.scope}/")), 0)
        if isinstance(thing, RecordedSpan):
            open_spans.append((thing, depth))
        if isinstance(thing, CellRun):
            thing.before = sum(order < thing.order for order in every)
        pieces = _call(thing, said, prompts=prompts) if isinstance(thing, Call) else _told(thing)
        yield from (_deeper(piece, depth) for piece in pieces)
    if trajectory.ending.outcome is not Outcome.NOT_RUN:
        yield Text("Ended: ", style="bold").append_text(ending_text(trajectory.ending))


def _told(thing: Thing) -> Pieces:
    if isinstance(thing, RecordedSpan):
        yield from _span(thing)
    elif isinstance(thing, CellRun):
        yield from _cell(thing)
    elif isinstance(thing, Rewind):
        yield Text(f"Rewound to where {counted(thing.kept, 'action')} of the round had been taken.", style=NOTE)
    elif isinstance(thing, Round):
        yield _titled("The environment", _folded(thing.observation))
    elif isinstance(thing, Recalled):
        yield from _recalled(thing)


def _recalled(recalled: Recalled) -> Pieces:
    """Give what was known; helpers stand whole, as no cell shows them."""
    known = recalled.model_dump(mode="json", exclude={"order", "data", "procedure"}, exclude_defaults=True)
    helpers = [known.pop("helpers", "")]
    if procedure := recalled.procedure:
        known = {"procedure": f"{procedure.name}: {procedure.summary}", **known}
        helpers.append(procedure.helpers)
    yield Text("known before" if known or any(helpers) else "known before: nothing", style=DIM)
    for name, value in known.items():
        told = value if isinstance(value, str) else ", ".join(value) if name != "match" else json.dumps(value)
        yield _deeper(_titled(IN_RECALL.get(name, name), _folded(told, lines=1)))
    yield from (_deeper(_titled("helpers", text(f"\n{code.strip()}"))) for code in helpers if code.strip())


def _span(span: RecordedSpan) -> Pieces:
    """Give its title and status, then what it holds."""
    line = Text(f"{span.name} ", style="bold").append_text(text(span.title, "bold"))
    if status := span.status or ("" if span.end is not None else "open"):
        line.append(": ").append_text(text(status, STYLES.get(status, NOTE)))
    yield line
    for name, value in span.data.items():
        if name not in SHOWN and value not in (None, "", [], {}, False) and str(value) not in span.title:
            yield _deeper(_titled(name, _folded(value, lines=2)))


def _call(call: Call, told: dict[str, set[tuple[str, str]]], *, prompts: bool) -> Pieces:
    """Give who was asked what; with prompts, what was said, but for what stood in the last prompt of the scope."""
    usage = call.reply.usage
    spent = f"{usage.prompt:,} + {usage.completion:,} tokens"
    spent += "; the reply was stopped" if call.reply.finish == "cut" else ""
    yield text(f"{call.role} was asked {call.template} ({spent})", DIM)
    before, said = told.get(call.scope, set()), [(message.role, message.content) for message in call.messages]
    told[call.scope] = {*said, ("assistant", call.reply.text)}
    if prompts:
        for role, content in said:
            known = text(f"{role}: as before, {counted(len(content), 'character')}", DIM)
            yield _deeper(known if (role, content) in before else _titled(role, text(content)))
        yield _deeper(_titled("reply", text(call.reply.text), "bold"))


def _cell(ran: CellRun) -> Pieces:
    """Give the thought, the code with its steps, the last output, and the feedback."""
    cell = ran.cell
    title = Text(f"Cell {ran.number}", style="bold")
    if cell is None:
        yield title.append(": its end is not recorded", style=NOTE)
        yield _listing("", ran)
        return
    first, last = ran.before + 1, ran.before + len(ran.steps)
    actions = f", actions {first} to {last}" if ran.before and ran.steps else ""
    yield title.append_text(text(f", from {cell.source}{actions}", DIM))
    thought = cell.thought.model_dump(include={"understanding", "mistakes", "rules", "plan"})
    for name, said in (thought if any(thought.values()) else {"thought": cell.thought.text}).items():
        if said.strip():
            yield _titled(name, _folded(said))
    if cell.code or ran.steps:
        yield _listing(cell.code, ran)
    if ran.printed[-1].strip() and not ran.steps:
        yield _titled("printed", _folded(ran.printed[-1]))
    yield from _feedback(cell.feedback)
    yield " "


def _listing(code: str, ran: CellRun) -> Table:
    """Return the code, then its steps as they happened, each with its line of the code."""
    listing = Table.grid(padding=(0, 1))
    listing.add_column(justify="right", style=DIM, no_wrap=True)
    listing.add_column(overflow="fold")
    faulty = {fault.line for fault in ran.cell.feedback.faults} | {ran.cell.feedback.line} if ran.cell else set()
    for at, line in enumerate(code.splitlines(), 1):
        listing.add_row(str(at), text(line, BAD if at in faulty else "bold"))
    if ran.steps and ran.printed[0].strip():
        listing.add_row("", _titled("printed", _folded(ran.printed[0])))
    for line_number, told in _steps(ran):
        listing.add_row(f"line {line_number}" if line_number else "", told)
    return listing


def _steps(ran: CellRun) -> list[tuple[int | None, Text]]:
    """Return each step, with its line of the plan and what was printed after it, unless that is its observation."""
    told = []
    for number, (step, after) in enumerate(zip(ran.steps, ran.printed[1:], strict=True), 1):
        line = _step(number, step)
        if after.strip() and after.strip() != step.observation.text.strip():
            line.append("\n").append_text(_titled("printed", _folded(after)))
        told.append((step.line, line))
    return told


def _step(number: int, step: Step) -> Text:
    seen, style = step.observation, "" if step.observation.accepted else NOTE
    told = text(f"{number}. {call_of(step.action)}", "cyan").append(" -> ", DIM).append_text(_folded(seen.text, style))
    marks = {
        "no effect": not seen.accepted,
        "not counted": not step.counted,
        "undone": step.undone,
        "lasting": seen.lasting,
        "episode over": seen.terminated,
        "cut short by the environment": seen.truncated,
    }
    if said := [mark for mark, is_so in marks.items() if is_so]:
        told.append(f" ({', '.join(said)})", style or DIM)
    return Text(told.plain, style=DIM, overflow="fold") if step.undone else told


def _feedback(feedback: Feedback) -> Pieces:
    """Give the feedback without what it says of the steps, which stands with them already."""
    yield Text("ended: ", style=DIM).append(feedback.kind.value, style=CELL_STYLES.get(feedback.kind, BAD))
    yield from (_deeper(text(str(fault), BAD)) for fault in feedback.faults)
    rest = "\n".join(line for line in feedback.text.splitlines() if not OF_A_STEP.match(line))
    if rest.strip() and not feedback.faults:
        yield _titled("feedback", _folded(rest))


def ending_text(ending: Ending) -> Text:
    """Return the outcome and its reason in one line."""
    told = text(outcome_of(ending), GOOD if ending.outcome.solved else BAD)
    told.append(f" after {counted(ending.actions, 'action')}, {counted(ending.error_steps, 'error step')}")
    told.append(score_of(ending))
    if ending.cause and ending.cause != ending.outcome.value:
        told.append_text(text(f"; {in_words(ending.cause)}"))
    if ending.message:
        told.append_text(text(f": {ending.message}"))
    return told
