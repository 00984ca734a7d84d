"""Streaming plans: run each statement of a reply as soon as it is complete, up to the first fault.

The same statements run, with the same result, however the reply is cut into pieces.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from planbook.planner.errors import CellOver, EpisodeBroken, EpisodeOver, JournalFailed, JournalMismatch
from planbook.planner.feedback import CellSteps, cut_feedback, faults_feedback, rest_feedback, result_feedback
from planbook.planner.frames import Frame
from planbook.planner.models.types import Message, Reply
from planbook.planner.rendered import Rendered
from planbook.planner.reply_stream import RecordPiece, broke_off
from planbook.planner.thought import as_plan, read_thought
from planbook.planner.types import Feedback, Thought
from planbook.sandbox import (
    CellResult,
    Fault,
    FaultKind,
    GrowingCell,
    GrowingReply,
    ReadReply,
    Statement,
    bound_by_part,
    chars_to_line,
    code_lines,
    read_reply,
    statements_of,
)

NOT_RUN = "# [The plan ended here: nothing below was run.]"
"""Marks in the conversation the point at which the plan of a reply ended."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
STOPPING_ERRORS = CellOver, EpisodeOver, EpisodeBroken, JournalMismatch, JournalFailed, KeyboardInterrupt
"""Errors that stop a reply.

After any other error the episode may resume, so the reply is received to its end and paid for once.
"""
_LONG_PLAN, _GROWTH_DIVISOR = 64, 16
"""Beyond ``_LONG_PLAN`` lines, the whole plan is checked again only when it has grown by a sixteenth."""
REVISED = Fault(
    FaultKind.CHECK,
    "revised",
    "a later block of the reply defines again what the first one defines, and that had run by then",
    hint="write the plan once, in one block; what has run need not be written again",
)


class PlanResult(NamedTuple):
    """The result of asking for a plan and running it. ``history`` is the conversation, the reply included."""

    feedback: Feedback
    history: tuple[Message, ...]


@dataclass(frozen=True)
class StreamedPlan:
    """The result of a reply whose plan ran while it arrived. ``code`` is the part of the plan that counts.

    ``refused`` holds the faults of the part after line ``ran_to``, which was not run; ``ran_to`` is 0 if nothing ran.
    ``error`` is the exception that ended the cell, if any. ``cut`` is True if the reply broke off within the plan.
    """

    code: str
    thought: Thought
    result: CellResult
    refused: Sequence[Fault] = ()
    ran_to: int = 0
    error: BaseException | None = None
    cut: bool = False


def stream_feedback(streamed: StreamedPlan, steps: CellSteps) -> Feedback:
    """Return the feedback for a plan that no exception ended."""
    ran_to, result = streamed.ran_to, streamed.result
    if streamed.refused and not ran_to:
        return faults_feedback(streamed.refused, steps.environment)
    if streamed.refused:
        return rest_feedback(result, streamed.refused, ran_to, steps)
    return cut_feedback(result, ran_to, steps) if streamed.cut else result_feedback(result, steps)


class StreamingPlan:
    """Reads one reply and runs its plan in a frame as one cell.

    Statements that only define something wait for one that acts: a reply without any is not a plan. A statement that
    needs a later one, such as the definition of a name, waits for it, and so do all statements after it. A plan that
    ``waits`` runs nothing before the whole plan has arrived and passed the check.
    """

    def __init__(self, frame: Frame, source: str, note: RecordPiece, *, waits: bool) -> None:
        self._frame, self._source, self._note = frame, source, note
        self.waits = waits
        self._reply, self._text, self._noted = GrowingReply(), "", 0
        self._names = frame.names
        self._waiting: list[Statement] = []
        self._next_check = 0
        """Line before which the code so far is not checked again."""
        self._cell: GrowingCell | None = None
        self._ran_to = 0
        self._stop: Statement | None = None
        """The statement that ended the plan early; None if none did."""
        self._refused: Sequence[Fault] = ()
        self.failed: BaseException | None = None
        self.stopped_at: int | None = None
        self._whole: ReadReply | None = None

    @property
    def ran(self) -> bool:
        """True if any statement ran."""
        return self._cell is not None

    def feed(self, piece: str) -> bool:
        """Take the next piece and run the statements that are now complete. Return False once the plan has ended."""
        if self.waits:
            return True
        self._text += piece
        for arrival in self._reply.add(piece) if self._stop is None else ():
            self._take(arrival.statements, arrival.chars)
            if self._stop is not None:
                if self.failed is None or isinstance(self.failed, STOPPING_ERRORS):
                    self.stopped_at = arrival.chars
                break
        return self.stopped_at is None

    def read(self, reply: Reply) -> StreamedPlan:
        """Run the rest. Raises ValueError if nothing ran and the reply holds no plan that can be run."""
        if self._stop is None:
            self._run_rest(reply)
        if self._refused and not self.ran and self._refused[0].type == "syntax":
            raise ValueError(str(self._refused[0]))
        written = self._reply if self._whole is None else self._whole
        lines = written.code.split("\n")
        cut = self._whole is None and self._stop is None
        last = self._stop.last_line if self._stop else self._ran_to if cut else len(lines)
        code = "\n".join(lines if self.waits else lines[:last])
        return StreamedPlan(
            code=code,
            thought=read_thought("\n".join(code_lines(written.before))),
            result=self._result(code),
            refused=self._refused,
            ran_to=self._ran_to,
            error=self.failed,
            cut=cut,
        )

    def kept(self, reply: Reply) -> str:
        """Return the whole reply, with a mark between the statement that ended the plan and the code that was not run.

        The data of the text are the code that ran, so they are the same whether plans are streamed or not.
        """
        if self._stop is None:
            return reply.text
        last_line = self._stop.last_line
        if self._whole is None:
            ran = reply.text[: self._reply.chars_to(last_line)]
            fence = _FENCE.findall(ran)[-1:]
            return Rendered.of("\n".join([ran, NOT_RUN, *fence]), ran)
        end = chars_to_line(reply.text, self._whole.reply_line(last_line))
        ran, rest = reply.text[:end], reply.text[end:]
        more_code = any(line.strip() for line in self._whole.code.split("\n")[last_line:])
        return Rendered.of(f"{ran}\n{NOT_RUN}{rest}" if more_code else reply.text, ran)

    def _take(self, statements: Sequence[Statement], chars: int) -> None:
        """Check statements, and run those that are ready."""
        faulty, faults = None, list[Fault]()
        for statement in statements:
            faults = self._frame.faults_of_part(statement.source, self._names)
            if faults:
                faulty = statement
                break
            self._waiting.append(statement)
            self._names |= bound_by_part(statement.source)
        if ready := self._ready():
            del self._waiting[: len(ready)]
            self._run(ready, chars)
        if self._stop is None and faulty is not None:
            self._stop, self._refused = faulty, faults

    def _ready(self) -> list[Statement]:
        """Return the waiting statements that may run now: all before the first that needs a later one.

        If none of these acts, none may run.
        """
        if not any(statement.acts for statement in self._waiting) or self._waiting[-1].last_line < self._next_check:
            return []
        last = self._waiting[-1].last_line
        self._next_check = last + max(0, last - _LONG_PLAN) // _GROWTH_DIVISOR
        faults = self._frame.faults("\n".join(self._reply.code.split("\n")[:last]))
        first = min((fault.line or 0 for fault in faults), default=last + 1)
        ready = [statement for statement in self._waiting if statement.last_line < first]
        return ready if any(statement.acts for statement in ready) else []

    def _run(self, statements: Sequence[Statement], chars: int | None = None) -> None:
        """Run statements that the first ``chars`` characters of the reply have completed; None for the whole reply."""
        statement = statements[0]
        try:
            if chars is not None:
                self._note(self._text[self._noted : chars])
                self._noted = chars
            if self._cell is None:
                self._cell = self._frame.session.grow(self._source)
            for statement in statements:
                self._ran_to = statement.last_line
                if self._frame.run_part(self._cell, statement.source):
                    self._stop = statement
                    return
        except BaseException as error:  # not raised through the model, so that the reply is recorded first
            self.failed, self._stop = error, statement

    def _run_rest(self, reply: Reply) -> None:
        """Run the statements that the end of the reply has completed, if the whole plan passes the check."""
        if reply.finish == "cut" or broke_off(reply):
            if not self.ran:
                raise ValueError("the reply broke off before anything could be run")
            return
        self._whole = read_reply(reply.text)
        lines = self._whole.code.split("\n")
        if not self.ran:
            as_plan(reply.text)
        elif lines[: self._ran_to] != self._reply.code.split("\n")[: self._ran_to]:
            self._refused = (REVISED,)
        elif self._whole.problem is not None:
            self._refused = (self._whole.problem,)
        rest = () if self._refused else statements_of(lines, self._ran_to)
        if rest:
            self._refused = self._frame.faults(self._whole.code)
        if rest and not self._refused:
            self._run(rest)

    def _result(self, code: str) -> CellResult:
        """Return the result of the cell so far."""
        if self._cell is None or self.failed is not None:
            return CellResult()
        result = self._cell.finish()
        self._frame.add_names("\n".join(code.split("\n")[: self._ran_to]), result)
        return result
