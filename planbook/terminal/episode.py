"""One episode in the order of time, as the pieces that it is printed in, whatever the method."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from planbook.outcomes import in_words, outcome_of, score_of
from planbook.planner import Call, Ending, Outcome, Round, Trajectory
from planbook.planner.spans import RecordedSpan
from planbook.planner.trajectory import Recalled, Rewind
from planbook.terminal.cells import Ran, cell_pieces, cells_of
from planbook.terminal.pieces import BAD, DIM, GOOD, NOTE, Piece, deeper, folded, text, titled
from planbook.wording import counted

Thing = Recalled | Round | RecordedSpan | Call | Ran | Rewind
SHOWN = frozenset({"title", "done"})
"""Fields of spans that the title and the status say already."""


@dataclass
class Branch:
    """Something that happened, with what happened inside it; only spans and rounds have an inside."""

    thing: Thing
    inside: list["Branch"] = field(default_factory=list)


def tree_of(trajectory: Trajectory) -> list[Branch]:
    """Put the episode in order: what happens lies in the innermost span that is open then, in whose scope it is."""
    things: list[Thing] = [trajectory.recall] if trajectory.recall else []
    things += [*trajectory.rounds, *trajectory.spans, *trajectory.calls]
    for each in trajectory.rounds:
        things += [*cells_of(each), *each.rewinds]
    found, open_spans = list[Branch](), list[Branch]()
    for thing in sorted(things, key=_began):
        branch = Branch(thing)
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


def episode_pieces(trajectory: Trajectory, *, prompts: bool = False) -> Iterator[Piece]:
    """Everything that happened; ``prompts`` says whether prompts and replies are told whole."""
    yield from _Lines(prompts).branches(tree_of(trajectory))
    if trajectory.ending.outcome is not Outcome.NOT_RUN:
        yield Piece(Text("Ended: ", style="bold").append_text(ending_text(trajectory.ending)))


class _Lines:
    """Tells what happened, one thing after the other."""

    def __init__(self, prompts: bool) -> None:
        self._prompts = prompts
        self._said: dict[str, set[tuple[str, str]]] = {}
        """By scope: the messages of its last prompt, with the reply."""

    def branches(self, branches: Iterable[Branch]) -> Iterator[Piece]:
        """Tell them, each with what it has inside."""
        for branch in branches:
            thing = branch.thing
            if isinstance(thing, RecordedSpan):
                yield from self._span(thing)
                yield from deeper(self.branches(branch.inside))
            elif isinstance(thing, Call):
                yield from self._call(thing)
            elif isinstance(thing, Ran):
                yield from cell_pieces(thing)
            elif isinstance(thing, Rewind):
                told = f"Rewound to where {counted(thing.kept, 'action')} of the round had been taken."
                yield Piece(Text(told, style=NOTE))
            elif isinstance(thing, Round):
                yield Piece(titled("The environment", folded(thing.observation)))
            else:
                yield from _recall(thing)

    def _span(self, span: RecordedSpan) -> Iterator[Piece]:
        """Tell its title and status, then what it holds."""
        line = Text(f"{span.name} ", style="bold").append_text(text(span.title, "bold"))
        if status := span.status or ("" if span.end is not None else "open"):
            line.append(": ").append_text(text(status, STYLES.get(status, NOTE)))
        yield Piece(line)
        for name, value in span.data.items():
            if name not in SHOWN and value not in (None, "", [], {}, False) and str(value) not in span.title:
                yield Piece(titled(name, folded(value if isinstance(value, str) else repr(value), lines=2)), 1)

    def _call(self, call: Call) -> Iterator[Piece]:
        """Tell that somebody was asked; with prompts, what was said, but for what stood in the prompt before."""
        usage = call.reply.usage
        spent = f"{usage.prompt:,} + {usage.completion:,} tokens"
        spent += "; the reply was stopped" if call.reply.finish == "cut" else ""
        yield Piece(text(f"{call.role} was asked {call.template} ({spent})", DIM))
        before = self._said.get(call.scope, set())
        said = [(message.role, message.content) for message in call.messages]
        self._said[call.scope] = {*said, ("assistant", call.reply.text)}
        if self._prompts:
            yield from deeper(_said(said, before))
            yield Piece(titled("reply", text(call.reply.text), "bold"), 1)


STYLES = {"done": GOOD, "kept": GOOD, "over": GOOD, "failed": BAD, "turned back": BAD, "abandoned": BAD}


def _said(messages: Sequence[tuple[str, str]], before: set[tuple[str, str]]) -> Iterator[Piece]:
    for role, content in messages:
        if (role, content) in before:
            yield Piece(text(f"{role}: as before, {counted(len(content), 'character')}", DIM))
        else:
            yield Piece(titled(role, text(content)))


def _recall(recalled: Recalled) -> Iterator[Piece]:
    """Tell what was known beforehand."""
    known = recalled.model_dump(mode="json", exclude={"order", "data"}, exclude_defaults=True)
    yield Piece(Text(f"recall{'' if known else ': nothing'}", style=DIM))
    for name, value in known.items():
        yield Piece(titled(name, folded(value if isinstance(value, str) else repr(value), lines=1)), 1)


def ending_text(ending: Ending) -> Text:
    """The outcome, and why, in one line."""
    style = GOOD if ending.outcome.solved else BAD
    told = text(outcome_of(ending), style)
    told.append(f" after {counted(ending.actions, 'action')}, {counted(ending.error_steps, 'error step')}")
    told.append(score_of(ending))
    if ending.cause and ending.cause != ending.outcome.value:
        told.append_text(text(f"; {in_words(ending.cause)}"))
    if ending.message:
        told.append_text(text(f": {ending.message}"))
    return told
