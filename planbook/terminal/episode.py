"""What happened in the scopes of an episode, as the pieces that it is printed in, whatever the method."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rich.text import Text

from planbook.figures.causes import in_words, outcome_of, score_of
from planbook.figures.methods.records import Branch as Idea
from planbook.planner import Ending
from planbook.report.inside.evaluated import Evaluated, Passed
from planbook.report.inside.items import Asked, Began, Ended, Noted, Rewound, Tried
from planbook.report.inside.places import Branch, Place
from planbook.report.inside.searched import LEFT, Limb, Searched
from planbook.terminal.cells import cell_pieces
from planbook.terminal.pieces import BAD, DIM, GOOD, NOTE, Piece, deeper, folded, text, titled
from planbook.wording import counted

DONE = {True: ("done", GOOD), False: ("failed", BAD), None: ("the episode ended first", NOTE)}


class Lines:
    """Tells the items of a scope; ``prompts`` says whether prompts and replies are told whole."""

    def __init__(self, prompts: bool = False) -> None:
        self._prompts = prompts

    def place(self, place: Place) -> Iterator[Piece]:
        """Everything in a scope, in order."""
        return self._items(place.items)

    def _items(self, items: Iterable[Any]) -> Iterator[Piece]:
        for item in items:
            yield from TELL[item.kind](self, item)

    def inner(self, place: Place) -> Iterator[Piece]:
        """A scope below."""
        if not all(isinstance(item, Passed) for item in place.items):
            yield Piece(text(place.below, DIM))
            yield from deeper(self._items(place.items))
        else:
            yield from self._items(place.items)

    def subtask(self, branch: Branch) -> Iterator[Piece]:
        """What the executor did with it, and how the planner took it apart."""
        subtask = branch.subtask
        said, style = DONE[subtask.done]
        title = Text("Sub-task ", style="bold").append_text(text(subtask.text, "bold"))
        yield Piece(title.append(": ").append(said, style))
        for place in filter(None, (branch.executor, branch.planner)):
            own = place.subtask
            if own is not None and branch.executor and branch.planner:
                own_said, own_style = DONE[own.done]
                yield Piece(text(f"{own.by}: ", DIM).append(own_said, own_style), 1)
            if own is not None and own.note:
                yield Piece(titled(f"{own.by} says", folded(own.note)), 1)
            yield from deeper(self._items(place.items))

    def asked(self, asked: Asked) -> Iterator[Piece]:
        """That somebody was asked; with prompts, what was said. What stood in the prompt before is not repeated."""
        row, reply = asked.row, asked.row["reply"]
        usage = reply["usage"]
        spent = f"{usage['prompt']:,} + {usage['completion']:,} tokens"
        spent += "; the reply was stopped" if reply["finish"] == "cut" else ""
        yield Piece(text(f"{row['role']} was asked {row['template']} ({spent})", DIM))
        if not self._prompts:
            return
        for message in asked.messages:
            if message.before:
                yield Piece(text(f"{message.role}: as before, {counted(len(message.content), 'character')}", DIM), 1)
            else:
                yield Piece(titled(message.role, text(message.content)), 1)
        yield Piece(titled("reply", text(reply["text"]), "bold"), 1)

    def began(self, began: Began) -> Iterator[Piece]:
        """What was to be seen first."""
        yield Piece(titled("The world", folded(began.observation)))

    def rewound(self, rewound: Rewound) -> Iterator[Piece]:
        """How far the world was taken back."""
        yield Piece(
            Text(f"Rewound to where {counted(rewound.steps, 'action')} of the round had been taken.", style=NOTE)
        )

    def ended(self, ended: Ended) -> Iterator[Piece]:
        """How it ended."""
        yield Piece(Text("Ended: ", style="bold").append_text(ending_text(ended.ending)))

    def noted(self, noted: Noted) -> Iterator[Piece]:
        """Anything else that was recorded."""
        yield Piece(Text(f"{noted.what}{'' if noted.parts else ': nothing'}", style=DIM))
        for name, value in noted.parts.items():
            yield Piece(titled(name, folded(value, lines=1)) if name else folded(value), 1)

    def tried(self, tried: Tried) -> Iterator[Piece]:
        """A goal."""
        goal = tried.goal
        said, style = DONE[goal.done]
        line = Text("Goal ", style="bold").append_text(text(goal.chosen or goal.goal, "bold"))
        line.append(": ").append(said, style)
        if goal.reason and not goal.done:
            line.append(": ").append_text(folded(goal.reason))
        yield Piece(line)

    def searched(self, searched: Searched) -> Iterator[Piece]:
        """What was planned in a round, and the tree of what was tried."""
        yield Piece(Text(f"Round {searched.round + 1} of planning", style="bold"))
        for plan in searched.plans:
            if plan.why:
                yield Piece(titled("why", folded(plan.why)), 1)
            yield Piece(Text("the plan as revised" if plan.revision else "the plan", style=DIM), 1)
            for number, part in enumerate(plan.parts, 1):
                yield Piece(text(f"{number}. {part}"), 2)
        yield from deeper(_spare(searched.spare))
        yield from deeper(_way(searched.tree))

    def passed(self, passed: Passed) -> Iterator[Piece]:
        """A pass of a prompt graph, node by node."""
        yield Piece(Text(f"Pass {passed.number}", style="bold"))
        for _, nodes in passed.layers:
            for each in nodes:
                yield from deeper(self._node(each))

    def _node(self, each: Evaluated) -> Iterator[Piece]:
        if each.node.skipped:
            stands = f"kept the answer of pass {each.last_pass}" if each.last else "skipped"
            yield Piece(text(f"{each.node.node}: {stands}", DIM))
            return
        yield Piece(titled(each.node.node, folded(each.answer), "bold"))
        if self._prompts:
            for asked in each.asked:
                yield from deeper(self.asked(asked))


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


def _way(limbs: Iterable[Limb]) -> Iterator[Piece]:
    """The way that was taken; what was left on it stands where it was tried, dimmed."""
    for limb in limbs:
        branch = limb.branch
        if limb.begins:
            yield Piece(text(branch.subtask, "bold"))
        fate = {True: DIM, False: GOOD}[branch.fate in LEFT]
        line = Text(f"{branch.fate}: ", style=fate).append_text(text(_first_line(branch), DIM if limb.left else ""))
        if branch.history:
            line.append(" -> ", DIM).append_text(folded(branch.history, DIM if limb.left else "", 1))
        yield Piece(line, 1)
        if branch.why:
            yield Piece(titled("why", folded(branch.why)), 2)
        for code in branch.again or ():
            yield Piece(titled("run again", folded(code)), 2)
        yield from deeper(deeper(_way(limb.inside)))
        yield from deeper(_spare(limb.spare))


def _spare(ideas: Iterable[Idea]) -> Iterator[Piece]:
    for idea in ideas:
        yield Piece(text(f"never needed: {_first_line(idea)}", DIM), 1)


def _first_line(idea: Idea) -> str:
    first, _, more = (idea.mapped or idea.code).strip().partition("\n")
    return f"{first} ..." if more else first


TELL: Mapping[str, Callable[[Lines, Any], Iterator[Piece]]] = {
    "place": Lines.inner,
    "branch": Lines.subtask,
    "ran": lambda lines, ran: cell_pieces(ran),
    "asked": Lines.asked,
    "began": Lines.began,
    "rewound": Lines.rewound,
    "ended": Lines.ended,
    "noted": Lines.noted,
    "tried": Lines.tried,
    "searched": Lines.searched,
    "passed": Lines.passed,
}
