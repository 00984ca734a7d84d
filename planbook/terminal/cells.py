"""A run of plan code: each line with the steps that it took below it, then how it ended."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planbook.planner import Cell, Feedback, FeedbackKind, Round, Step
from planbook.planner.action_docs import AGENT, call_of
from planbook.terminal.pieces import BAD, DIM, GOOD, NOTE, Piece, folded, text, titled

STEP = 4
"""Columns by which a step stands further right than the line that took it."""
STYLES = {FeedbackKind.DONE: GOOD, FeedbackKind.UNFINISHED: ""}
"""Of the ways in which a cell can end; the others are errors."""
OF_A_STEP = re.compile(rf"\d+\. {AGENT}\..* -> ")


@dataclass
class Ran:
    """A run of plan code with its steps; ``cell`` is None where the record ends before the cell did."""

    scope: str
    number: int
    steps: Sequence[Step]
    cell: Cell | None

    @property
    def order(self) -> int:
        """The moment of its first step, or of its end where it took none."""
        orders = [step.order for step in self.steps] + [self.cell.order if self.cell else None]
        return min(order for order in orders if order is not None)

    @property
    def printed_last(self) -> str:
        """What the plan printed after its last step; what it printed before stands with the steps."""
        return self.cell.feedback.output[sum(len(step.printed) for step in self.steps) :] if self.cell else ""

    @property
    def faulty_lines(self) -> set[int | None]:
        """The plan lines that the feedback names."""
        return {fault.line for fault in self.cell.feedback.faults} | {self.cell.feedback.line} if self.cell else set()


def cells_of(played: Round) -> list[Ran]:
    """Return the cells of a round, each with its steps."""
    steps: defaultdict[tuple[str, int], list[Step]] = defaultdict(list)
    for step in played.steps:
        steps[step.scope, step.cell].append(step)
    ended = {(cell.scope, cell.number): cell for cell in played.cells}
    return [Ran(*place, steps[place], ended.get(place)) for place in dict.fromkeys([*steps, *ended])]


def cell_pieces(ran: Ran) -> Iterator[Piece]:
    """What was thought, the code with its steps, what was printed last, and the feedback."""
    cell = ran.cell
    title = Text(f"Cell {ran.number}", style="bold")
    if cell is None:
        yield Piece(title.append(": its end is not recorded", style=NOTE))
        yield Piece(_listing("", ran))
        return
    yield Piece(title.append_text(text(f", from {cell.source}", DIM)))
    yield from _thoughts(cell)
    if cell.code or ran.steps:
        yield Piece(_listing(cell.code, ran))
    if ran.printed_last.strip() and not ran.steps:
        yield Piece(_printed(ran.printed_last))
    yield from _feedback(cell.feedback)
    yield Piece(" ")


def _thoughts(cell: Cell) -> Iterator[Piece]:
    thought = cell.thought
    parts = {
        "understanding": thought.understanding,
        "mistakes": thought.mistakes,
        "rules": thought.rules,
        "plan": thought.plan,
    }
    for name, said in parts.items() if any(parts.values()) else {"thought": thought.text}.items():
        if said.strip():
            yield Piece(titled(name, folded(said)))


def _listing(code: str, ran: Ran) -> Table:
    """Steps are numbered: a loop takes those of its lines in turn."""
    listing = Table.grid(padding=(0, 1))
    listing.add_column(justify="right", style=DIM, no_wrap=True)
    listing.add_column(overflow="fold")
    lines, steps = code.splitlines(), _told_steps(ran)
    if ran.steps and ran.steps[0].printed.strip():
        listing.add_row("", _printed(ran.steps[0].printed))
    for at, line in enumerate(lines, 1):
        listing.add_row(str(at), text(line, BAD if at in ran.faulty_lines else "bold"))
        for took, told in zip(ran.steps, steps, strict=True):
            if took.line == at:
                listing.add_row("", Padding(told, (0, 0, 0, len(line) - len(line.lstrip()) + STEP), expand=False))
    for took, told in zip(ran.steps, steps, strict=True):
        if took.line not in range(1, len(lines) + 1):
            listing.add_row("", told)
    return listing


def _told_steps(ran: Ran) -> list[Text]:
    """Each step with what was printed after it, unless that is what it was answered."""
    printed = [*(step.printed for step in ran.steps), ran.printed_last][1:]
    told = []
    for number, (step, after) in enumerate(zip(ran.steps, printed, strict=True), 1):
        line = _step(number, step)
        if after.strip() and after.strip() != step.observation.text.strip():
            line.append("\n").append_text(_printed(after))
        told.append(line)
    return told


def _step(number: int, step: Step) -> Text:
    refused = not step.observation.accepted
    told = text(f"{number}. {call_of(step.action)}", "cyan").append(" -> ", DIM)
    told.append_text(folded(step.observation.text, NOTE if refused else ""))
    marks = {
        "no effect": refused,
        "not counted": not step.counted,
        "undone": step.undone,
        "lasting": step.observation.lasting,
        "episode over": step.observation.terminated,
        "cut short by the world": step.observation.truncated,
    }
    if said := [mark for mark, is_so in marks.items() if is_so]:
        told.append(f" ({', '.join(said)})", NOTE if refused else DIM)
    return Text(told.plain, style=DIM, overflow="fold") if step.undone else told


def _printed(output: str) -> Text:
    return titled("printed", folded(output))


def _feedback(feedback: Feedback) -> Iterator[Piece]:
    """What it says of the steps stands with them already."""
    yield Piece(Text("ended: ", style=DIM).append(feedback.kind.value, style=STYLES.get(feedback.kind, BAD)))
    for fault in feedback.faults:
        yield Piece(text(str(fault), BAD), 1)
    rest = "\n".join(line for line in feedback.text.splitlines() if not OF_A_STEP.match(line))
    if rest.strip() and not feedback.faults:
        yield Piece(titled("feedback", folded(rest)))
