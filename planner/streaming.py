"""Read a model's reply while it arrives, and run the plan in it: each statement as soon as it is complete.

A reader may act on a part of the reply before the rest has arrived. That part is recorded first, so that the final
reply begins with it even if the process is killed and the model answers differently when it is asked again.

A plan is run up to its first fault. However the reply is split into pieces, the same statements run, with the same
result. All statements of a plan form one cell, which is a piece of plan code that is run as a unit. The cell grows
statement by statement.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from planbook.planner.errors import CellOver, EpisodeBroken, EpisodeOver, JournalFailed, JournalMismatch
from planbook.planner.feedback import CellSteps, check_feedback, cut_feedback, part_feedback, result_feedback
from planbook.planner.models.types import Message, Reply
from planbook.planner.replies import as_plan, has_call, read_thought
from planbook.planner.types import Feedback, RenderedText, Thought
from planbook.sandbox import (
    CellResult,
    Fault,
    FaultKind,
    GrowingCell,
    GrowingReply,
    ReadReply,
    Statement,
    chars_to_line,
    code_lines,
    possibly_bound_names,
    read_reply,
    statements_of,
)

if TYPE_CHECKING:
    from planbook.planner.frames import Frame

Read_co = TypeVar("Read_co", covariant=True)
RecordPiece = Callable[[str], object]
"""Records the next piece of a reply in the journal. A reader calls it before it acts on the piece."""


class ReplyReader(Protocol[Read_co]):
    """Reads one reply, piece by piece."""

    needs_whole_reply: bool
    """True if the reader can only read a complete reply. It then receives no pieces while the model is writing."""
    stopped_at: int | None
    """Number of characters up to the end of the line at which the reader has stopped, or None if it has not."""
    error: BaseException | None
    """The error that made the reader stop, or None if there is none."""

    @property
    def has_acted(self) -> bool:
        """True once the reader has done something that cannot be undone."""

    def feed(self, piece: str) -> bool:
        """Take the next piece, of any length. Return False to stop the reply. The method never raises an exception."""

    def read(self, reply: Reply) -> Read_co:
        """Return the value of the whole reply. Raises ValueError if the reply is unusable."""

    def text_for_history(self, reply: Reply) -> str:
        """Return the text that later prompts show as the reply."""


def broke_off(reply: Reply) -> bool:
    """Return True if the plan in a reply may be incomplete, because the reply was cut off inside its code."""
    if reply.finish == "stop":
        return False
    parsed = read_reply(reply.text)
    return not parsed.closed and (bool(parsed.code) or has_call(reply.text))


class WholeReplyReader(Generic[Read_co]):
    """Reads a reply only when it is complete."""

    needs_whole_reply, has_acted = True, False
    stopped_at: int | None = None
    error: BaseException | None = None

    def __init__(self, read: Callable[[str], Read_co]) -> None:
        self._read = read

    def feed(self, piece: str) -> bool:
        """Ignore the piece, and let the reply continue."""
        return True

    def read(self, reply: Reply) -> Read_co:
        """Return the value of the reply. Raises ValueError if the reply is unusable."""
        if broke_off(reply):
            raise ValueError("the reply broke off inside its code")
        return self._read(reply.text)

    def text_for_history(self, reply: Reply) -> str:
        """Return the whole reply."""
        return reply.text


class ReplyStream(Generic[Read_co]):
    """Passes a model's reply on to its reader.

    The final reply always begins with the part that the reader has acted on. For example, if the connection breaks and
    the model then sends a different reply, only that part is kept and the new reply is dropped.

    ``recorded`` is the part that an earlier invocation of the run acted on before it was killed.
    """

    def __init__(self, new_reader: Callable[[], ReplyReader[Read_co]], recorded: str) -> None:
        self._new_reader, self._recorded = new_reader, recorded
        self.reader = new_reader()
        self._text, self._surrogate, self._passed_chars = "", "", 0
        self._reader_seconds = 0.0
        self.contradicts_record = False
        """True if the model's reply does not begin with the part that an earlier invocation acted on."""

    def __call__(self, piece: str) -> bool:
        """Take the next piece. Pass on the text once it contains the recorded part. Return False to stop the reply."""
        self._text += self._whole_characters(piece)
        if not self._text.startswith(self._recorded[: len(self._text)]):
            return False
        return len(self._text) < len(self._recorded) or self._pass_on()

    def finish(self, reply: Reply) -> Reply:
        """Pass on the rest of the complete reply, and return the final reply.

        The seconds of the final reply do not include those that the reader took. If the reader has stopped, the reply
        ends with the line at which it stopped.
        """
        reply = self._reconcile(reply.model_copy(update={"seconds": max(0.0, reply.seconds - self._reader_seconds)}))
        stopped_at = self.reader.stopped_at
        if stopped_at is None:
            return reply
        return reply.model_copy(update={"text": reply.text[:stopped_at], "finish": "cut"})

    def _reconcile(self, reply: Reply) -> Reply:
        """Pass on the rest of the reply and return it.

        If the reply does not begin with the text that was passed on before, return only that text or, if the reader has
        not acted on it yet, pass the whole reply on to a new reader. If nothing was passed on, and the reply does not
        begin with the recorded part, return only the recorded part.
        """
        if reply.text.startswith(self._text[: self._passed_chars] or self._recorded):
            self._text = reply.text
            self._pass_on()
            return reply
        if not self._passed_chars and self._recorded:
            self.contradicts_record = True
            return reply.model_copy(update={"text": self._recorded, "finish": "cut"})
        if not self.reader.has_acted:
            self.reader, self._text, self._passed_chars = self._new_reader(), reply.text, 0
            self._pass_on()
            return reply
        return reply.model_copy(update={"text": self._text[: self._passed_chars], "finish": "cut"})

    def _pass_on(self) -> bool:
        start, new = monotonic(), self._text[self._passed_chars :]
        self._passed_chars = len(self._text)
        continues = self.reader.feed(new)
        self._reader_seconds += monotonic() - start
        return continues

    def _whole_characters(self, piece: str) -> str:
        """Return the piece. If it ends with the first half of a surrogate pair, keep that half for the next piece."""
        piece, self._surrogate = self._surrogate + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._surrogate = piece[:-1], piece[-1]
        return piece.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


# Plans that run while they arrive.

NOT_RUN = "# [The plan ended here: nothing below was run.]"
"""A note that later prompts show in the reply, after the statement at which the plan ended."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
STOPPING_ERRORS = CellOver, EpisodeOver, EpisodeBroken, JournalMismatch, JournalFailed, KeyboardInterrupt
"""Errors after which the rest of the reply is not needed, so the model is stopped.

After any other error, the episode may be resumed. So the whole reply is received and recorded, and the resumed episode
need not pay for it again.
"""
_LONG_PLAN, _GROWTH_DIVISOR = 64, 16
"""A plan of up to ``_LONG_PLAN`` lines is checked as a whole after each new statement.

In a longer plan, a check also waits for one more line per ``_GROWTH_DIVISOR`` lines above ``_LONG_PLAN``, since each
check reads the whole plan.
"""
REVISED = Fault(
    FaultKind.CHECK,
    "revised",
    "a later block of the reply redefines what the first block defines, which has already run",
    hint="write the plan once, in one block; code that has run need not be written again",
)


class PlanResult(NamedTuple):
    """The feedback on a plan that a model was asked for. ``history`` is the conversation, including the reply."""

    feedback: Feedback
    history: tuple[Message, ...]


@dataclass(frozen=True)
class StreamedPlan:
    """The result of a plan that ran while its reply arrived.

    ``code`` is the plan up to the statement that ended it. ``last_run_line`` is the number of the last line that was
    run, or 0 if none was. If code after that line was refused, ``refused`` holds its faults. ``error`` is the exception
    that ended the cell, if any. ``broke_off`` is True if the reply broke off within the plan.
    """

    code: str
    thought: Thought
    result: CellResult
    refused: Sequence[Fault] = ()
    last_run_line: int = 0
    error: BaseException | None = None
    broke_off: bool = False


def stream_feedback(streamed: StreamedPlan, steps: CellSteps) -> Feedback:
    """Return the feedback for a plan that was not ended by an exception."""
    last_run_line, result = streamed.last_run_line, streamed.result
    if streamed.refused and not last_run_line:
        return check_feedback(streamed.refused, steps.environment)
    if streamed.refused:
        return part_feedback(result, streamed.refused, last_run_line, steps)
    return cut_feedback(result, last_run_line, steps) if streamed.broke_off else result_feedback(result, steps)


class PlanReader:
    """Reads one reply and runs its plan in a frame (a namespace of plan code) as one cell.

    A reply with only definitions is not a plan, so definitions wait for a statement that does something. A statement
    that uses an undefined name waits for the definition, and all statements after it wait, too. With
    ``needs_whole_reply``, nothing is run before the whole plan has arrived and passed the check.
    """

    def __init__(self, frame: "Frame", source: str, record_piece: RecordPiece, *, needs_whole_reply: bool) -> None:
        self._frame, self._source, self._record_piece = frame, source, record_piece
        self.needs_whole_reply = needs_whole_reply
        self._reply, self._text, self._recorded_chars = GrowingReply(), "", 0
        self._names = frame.names
        self._waiting: list[Statement] = []
        self._next_check = 0
        """The plan is checked as a whole again when it has at least this number of lines."""
        self._cell: GrowingCell | None = None
        self._last_run_line = 0
        self._ending_statement: Statement | None = None
        """The statement that failed, was refused or ended the cell, or None if there is none."""
        self._refused: Sequence[Fault] = ()
        self.error: BaseException | None = None
        self.stopped_at: int | None = None
        self._complete_reply: ReadReply | None = None

    @property
    def has_acted(self) -> bool:
        """True once a statement has been run."""
        return self._cell is not None

    def feed(self, piece: str) -> bool:
        """Take the next piece, and run the statements that are complete. Return False if the rest is not needed."""
        if self.needs_whole_reply:
            return True
        self._text += piece
        for arrival in self._reply.add(piece) if self._ending_statement is None else ():
            self._handle_statements(arrival.statements, arrival.chars)
            if self._ending_statement is not None:
                if self.error is None or isinstance(self.error, STOPPING_ERRORS):
                    self.stopped_at = arrival.chars
                break
        return self.stopped_at is None

    def read(self, reply: Reply) -> StreamedPlan:
        """Run the rest of the plan, and return its result. Raises ValueError if nothing in the reply could be run."""
        if self._ending_statement is None:
            self._run_rest(reply)
        if self._refused and not self.has_acted and self._refused[0].type == "syntax":
            raise ValueError(str(self._refused[0]))
        parsed = self._reply if self._complete_reply is None else self._complete_reply
        lines = parsed.code.split("\n")
        is_incomplete = self._complete_reply is None and self._ending_statement is None
        if self._ending_statement:
            last = self._ending_statement.last_line
        else:
            last = self._last_run_line if is_incomplete else len(lines)
        code = "\n".join(lines if self.needs_whole_reply else lines[:last])
        return StreamedPlan(
            code=code,
            thought=read_thought("\n".join(code_lines(parsed.before))),
            result=self._result(code),
            refused=self._refused,
            last_run_line=self._last_run_line,
            error=self.error,
            broke_off=is_incomplete,
        )

    def text_for_history(self, reply: Reply) -> str:
        """Return the reply, with a note between the statement that ended the plan and the code that was not run.

        The digest of the text is made only from the part of the reply before the note. This part is the same whether
        plans are streamed or not, so recorded replies to later prompts are found in both cases.
        """
        if self._ending_statement is None:
            return reply.text
        last_line = self._ending_statement.last_line
        if self._complete_reply is None:
            ran = reply.text[: self._reply.chars_to(last_line)]
            fence = _FENCE.findall(ran)[-1:]
            return RenderedText.of("\n".join([ran, NOT_RUN, *fence]), ran)
        end = chars_to_line(reply.text, self._complete_reply.reply_line(last_line))
        ran, rest = reply.text[:end], reply.text[end:]
        has_more_code = any(line.strip() for line in self._complete_reply.code.split("\n")[last_line:])
        return RenderedText.of(f"{ran}\n{NOT_RUN}{rest}" if has_more_code else reply.text, ran)

    def _handle_statements(self, statements: Sequence[Statement], chars: int) -> None:
        """Check new statements, and run those that need not wait. ``chars`` is the length of the reply up to them."""
        faulty, faults = None, list[Fault]()
        for statement in statements:
            faults = self._frame.faults_of_part(statement.source, self._names)
            if faults:
                faulty = statement
                break
            self._waiting.append(statement)
            self._names |= possibly_bound_names(statement.source)
        if ready := self._ready_statements():
            del self._waiting[: len(ready)]
            self._run(ready, chars)
        if self._ending_statement is None and faulty is not None:
            self._ending_statement, self._refused = faulty, faults

    def _ready_statements(self) -> list[Statement]:
        """Return the waiting statements that can be run now: those before the first fault in the plan so far.

        Code that has not arrived yet may remove the fault. Return none if all of them are definitions.
        """
        if not any(statement.acts for statement in self._waiting) or self._waiting[-1].last_line < self._next_check:
            return []
        last_line = self._waiting[-1].last_line
        self._next_check = last_line + max(0, last_line - _LONG_PLAN) // _GROWTH_DIVISOR
        faults = self._frame.faults("\n".join(self._reply.code.split("\n")[:last_line]))
        first_fault = min((fault.line or 0 for fault in faults), default=last_line + 1)
        ready = [statement for statement in self._waiting if statement.last_line < first_fault]
        return ready if any(statement.acts for statement in ready) else []

    def _run(self, statements: Sequence[Statement], chars: int | None = None) -> None:
        """Record the first ``chars`` characters of the reply, and then run the statements.

        If ``chars`` is None, the whole reply is already recorded.
        """
        statement = statements[0]
        try:
            if chars is not None:
                self._record_piece(self._text[self._recorded_chars : chars])
                self._recorded_chars = chars
            if self._cell is None:
                self._cell = self._frame.session.grow(self._source)
            for statement in statements:
                self._last_run_line = statement.last_line
                if self._frame.run_part(self._cell, statement.source):
                    self._ending_statement = statement
                    return
        except BaseException as error:  # raised only after the reply is recorded
            self.error, self._ending_statement = error, statement

    def _run_rest(self, reply: Reply) -> None:
        """At the end of the reply, run the statements that have not been run, if the whole plan passes the check."""
        if reply.finish == "cut" or broke_off(reply):
            if not self.has_acted:
                raise ValueError("the reply broke off before anything could be run")
            return
        self._complete_reply = read_reply(reply.text)
        lines = self._complete_reply.code.split("\n")
        if not self.has_acted:
            as_plan(reply.text)
        elif lines[: self._last_run_line] != self._reply.code.split("\n")[: self._last_run_line]:
            self._refused = (REVISED,)
        elif self._complete_reply.problem is not None:
            self._refused = (self._complete_reply.problem,)
        remaining_statements = () if self._refused else statements_of(lines, self._last_run_line)
        if remaining_statements:
            self._refused = self._frame.faults(self._complete_reply.code)
        if remaining_statements and not self._refused:
            self._run(remaining_statements)

    def _result(self, code: str) -> CellResult:
        """Return the result of the cell so far."""
        if self._cell is None or self.error is not None:
            return CellResult()
        result = self._cell.finish()
        self._frame.add_names("\n".join(code.split("\n")[: self._last_run_line]), result)
        return result
