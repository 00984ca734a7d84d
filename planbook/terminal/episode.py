"""One episode in the order of time, as it is printed by `planbook show`, whatever the method."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planbook.outcomes import in_words, outcome_of, score_of
from planbook.planner import Call, Cell, Ending, Feedback, FeedbackKind, Outcome, Round, Step, Trajectory
from planbook.planner.action_docs import AGENT, call_of
from planbook.planner.spans import RecordedSpan
from planbook.planner.trajectory import Recalled, Rewind
from planbook.wording import counted, harmless

FIRST_LINES, FIRST_CHARS = 4, 400
"""Lines and characters that are shown of folded text."""
DEEPER = 2
"""Columns of indentation."""
DIM, GOOD, BAD, NOTE = "dim", "green", "red", "yellow"


class ShownPiece(NamedTuple):
    """Something to print; ``depth`` counts the spans and rounds around it."""

    what: RenderableType
    depth: int = 0


def deeper(pieces: Iterator[ShownPiece]) -> Iterator[ShownPiece]:
    """Give the same, one deeper."""
    return (ShownPiece(what, depth + 1) for what, depth in pieces)


def indented(piece: ShownPiece) -> RenderableType:
    """Return the piece as it is printed."""
    return Padding(piece.what, (0, 0, 0, DEEPER * piece.depth), expand=False) if piece.depth else piece.what


def text(content: str, style: str = "") -> Text:
    """Return text of a model or an environment so that nothing in it steers the terminal or is markup."""
    return Text(harmless(content), style=style, overflow="fold")


def folded(content: str, style: str = "", lines: int = FIRST_LINES) -> Text:
    """Return the first lines, and how much is left out."""
    content = content.strip()
    shown = "\n".join(content.splitlines()[:lines])[:FIRST_CHARS].rstrip()
    left = len(content) - len(shown)
    return text(shown, style).append(f" ... {counted(left, 'character')} more" if left else "", style=DIM)


def titled(title: str, content: Text, style: str = DIM) -> Text:
    """Return text after its title."""
    return Text(overflow="fold").append(f"{harmless(title)}: ", style=style).append_text(content)


# Runs of plan code.

STEP = 4
"""Columns of indentation of a step below the line that took it."""
CELL_STYLES = {FeedbackKind.DONE: GOOD, FeedbackKind.UNFINISHED: ""}
"""Styles of the ways in which a cell can end; the others are errors."""
OF_A_STEP = re.compile(rf"\d+\. {AGENT}\..* -> ")


@dataclass
class CellRun:
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


def cells_of(played: Round) -> list[CellRun]:
    """Return the cells of a round, each with its steps."""
    steps: defaultdict[tuple[str, int], list[Step]] = defaultdict(list)
    for step in played.steps:
        steps[step.scope, step.cell].append(step)
    ended = {(cell.scope, cell.number): cell for cell in played.cells}
    return [CellRun(*place, steps[place], ended.get(place)) for place in dict.fromkeys([*steps, *ended])]


def cell_pieces(ran: CellRun) -> Iterator[ShownPiece]:
    """Give the thought, the code with its steps, the last output, and the feedback."""
    cell = ran.cell
    title = Text(f"Cell {ran.number}", style="bold")
    if cell is None:
        yield ShownPiece(title.append(": its end is not recorded", style=NOTE))
        yield ShownPiece(_listing("", ran))
        return
    yield ShownPiece(title.append_text(text(f", from {cell.source}", DIM)))
    yield from _thoughts(cell)
    if cell.code or ran.steps:
        yield ShownPiece(_listing(cell.code, ran))
    if ran.printed_last.strip() and not ran.steps:
        yield ShownPiece(_printed(ran.printed_last))
    yield from _feedback(cell.feedback)
    yield ShownPiece(" ")


def _thoughts(cell: Cell) -> Iterator[ShownPiece]:
    thought = cell.thought
    parts = {
        "understanding": thought.understanding,
        "mistakes": thought.mistakes,
        "rules": thought.rules,
        "plan": thought.plan,
    }
    for name, said in parts.items() if any(parts.values()) else {"thought": thought.text}.items():
        if said.strip():
            yield ShownPiece(titled(name, folded(said)))


def _listing(code: str, ran: CellRun) -> Table:
    """Return the code with its steps, which are numbered: a loop takes those of its lines in turn."""
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


def _told_steps(ran: CellRun) -> list[Text]:
    """Return each step with what was printed after it, unless that is its observation."""
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


def _feedback(feedback: Feedback) -> Iterator[ShownPiece]:
    """Give the feedback without what it says of the steps, which stands with them already."""
    yield ShownPiece(Text("ended: ", style=DIM).append(feedback.kind.value, style=CELL_STYLES.get(feedback.kind, BAD)))
    for fault in feedback.faults:
        yield ShownPiece(text(str(fault), BAD), 1)
    rest = "\n".join(line for line in feedback.text.splitlines() if not OF_A_STEP.match(line))
    if rest.strip() and not feedback.faults:
        yield ShownPiece(titled("feedback", folded(rest)))


# The episode.

STYLES = {"done": GOOD, "kept": GOOD, "over": GOOD, "failed": BAD, "turned back": BAD, "abandoned": BAD}
Thing = Recalled | Round | RecordedSpan | Call | CellRun | Rewind
SHOWN = frozenset({"title", "done"})
"""Fields of spans that the title and the status say already."""


@dataclass
class EpisodePart:
    """Something that happened, with what happened inside it; only spans and rounds have an inside."""

    thing: Thing
    inside: list["EpisodePart"] = field(default_factory=list)


def tree_of(trajectory: Trajectory) -> list[EpisodePart]:
    """Put the episode in order: what happens lies in the innermost span that is open then, in whose scope it is."""
    things: list[Thing] = [trajectory.recall] if trajectory.recall else []
    things += [*trajectory.rounds, *trajectory.spans, *trajectory.calls]
    for each in trajectory.rounds:
        things += [*cells_of(each), *each.rewinds]
    found, open_spans = list[EpisodePart](), list[EpisodePart]()
    for thing in sorted(things, key=_began):
        branch = EpisodePart(thing)
        open_spans = [each for each in open_spans if _is_open(each.thing, _began(thing))]
        around = (each for each in reversed(open_spans) if _is_in(thing, each.thing))
        next((each.inside for each in around), found).append(branch)
        if isinstance(thing, RecordedSpan) and thing.end != thing.order:
            open_spans.append(branch)
    return found


def _began(thing: Thing) -> int:
    return thing.order


def _is_open(span: Any, order: int) -> bool:
    return span.end is None or span.end > order


def _is_in(thing: Any, span: Any) -> bool:
    return f"{getattr(thing, 'scope', '')}/".startswith(f"{span.scope}/")


def episode_pieces(trajectory: Trajectory, *, prompts: bool = False) -> Iterator[ShownPiece]:
    """Give everything that happened; with ``prompts``, prompts and replies whole."""
    yield from _Lines(prompts).branches(tree_of(trajectory))
    if trajectory.ending.outcome is not Outcome.NOT_RUN:
        yield ShownPiece(Text("Ended: ", style="bold").append_text(ending_text(trajectory.ending)))


class _Lines:
    """Tells what happened, one thing after the other."""

    def __init__(self, prompts: bool) -> None:
        self._prompts = prompts
        self._said: dict[str, set[tuple[str, str]]] = {}
        """By scope: the messages of its last prompt, with the reply."""

    def branches(self, branches: Iterable[EpisodePart]) -> Iterator[ShownPiece]:
        """Tell them, each with what it has inside."""
        for branch in branches:
            thing = branch.thing
            if isinstance(thing, RecordedSpan):
                yield from self._span(thing)
                yield from deeper(self.branches(branch.inside))
            elif isinstance(thing, Call):
                yield from self._call(thing)
            elif isinstance(thing, CellRun):
                yield from cell_pieces(thing)
            elif isinstance(thing, Rewind):
                told = f"Rewound to where {counted(thing.kept, 'action')} of the round had been taken."
                yield ShownPiece(Text(told, style=NOTE))
            elif isinstance(thing, Round):
                yield ShownPiece(titled("The environment", folded(thing.observation)))
            else:
                yield from _recall(thing)

    def _span(self, span: RecordedSpan) -> Iterator[ShownPiece]:
        """Tell its title and status, then what it holds."""
        line = Text(f"{span.name} ", style="bold").append_text(text(span.title, "bold"))
        if status := span.status or ("" if span.end is not None else "open"):
            line.append(": ").append_text(text(status, STYLES.get(status, NOTE)))
        yield ShownPiece(line)
        for name, value in span.data.items():
            if name not in SHOWN and value not in (None, "", [], {}, False) and str(value) not in span.title:
                yield ShownPiece(titled(name, folded(value if isinstance(value, str) else repr(value), lines=2)), 1)

    def _call(self, call: Call) -> Iterator[ShownPiece]:
        """Tell that somebody was asked; with prompts, what was said, but for what stood in the prompt before."""
        usage = call.reply.usage
        spent = f"{usage.prompt:,} + {usage.completion:,} tokens"
        spent += "; the reply was stopped" if call.reply.finish == "cut" else ""
        yield ShownPiece(text(f"{call.role} was asked {call.template} ({spent})", DIM))
        before = self._said.get(call.scope, set())
        said = [(message.role, message.content) for message in call.messages]
        self._said[call.scope] = {*said, ("assistant", call.reply.text)}
        if self._prompts:
            yield from deeper(_said(said, before))
            yield ShownPiece(titled("reply", text(call.reply.text), "bold"), 1)


def _said(messages: Sequence[tuple[str, str]], before: set[tuple[str, str]]) -> Iterator[ShownPiece]:
    for role, content in messages:
        if (role, content) in before:
            yield ShownPiece(text(f"{role}: as before, {counted(len(content), 'character')}", DIM))
        else:
            yield ShownPiece(titled(role, text(content)))


def _recall(recalled: Recalled) -> Iterator[ShownPiece]:
    """Tell what was known beforehand."""
    known = recalled.model_dump(mode="json", exclude={"order", "data"}, exclude_defaults=True)
    yield ShownPiece(Text(f"recall{'' if known else ': nothing'}", style=DIM))
    for name, value in known.items():
        yield ShownPiece(titled(name, folded(value if isinstance(value, str) else repr(value), lines=1)), 1)


def ending_text(ending: Ending) -> Text:
    """Return the outcome and its reason in one line."""
    style = GOOD if ending.outcome.solved else BAD
    told = text(outcome_of(ending), style)
    told.append(f" after {counted(ending.actions, 'action')}, {counted(ending.error_steps, 'error step')}")
    told.append(score_of(ending))
    if ending.cause and ending.cause != ending.outcome.value:
        told.append_text(text(f"; {in_words(ending.cause)}"))
    if ending.message:
        told.append_text(text(f": {ending.message}"))
    return told
