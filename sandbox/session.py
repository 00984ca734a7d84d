"""A session: one namespace that lives across cells, in a worker of its own.

When its worker is lost, the session is rebuilt: its cells run again in a new worker and get the recorded answers, so
that no function is called twice. Requests, output and value must be the same as the first time. They nearly always are,
since random numbers, time and the order of sets are the same in every worker. ``id`` and the order of a set of objects
without a hash of their own may differ.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from planbook.sandbox.answers import Answers, Kind, Seen
from planbook.sandbox.conversation import (
    NO_END,
    Conversation,
    End,
    Exchange,
    FinishedCell,
    Request,
    UnderWay,
    read_faults,
)
from planbook.sandbox.errors import RebuildDiverged, SandboxClosed, SessionBusy, WorkersKilled
from planbook.sandbox.process import KILLS, OWN_ENDS, Losses, Worker
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong, HostileFrame
from planbook.sandbox.types import MAX_KEPT, CellResult, Fault, FaultKind, LimitReached, Limits, limit_fault

# Running cells again.

PATIENCE = 2
"""How many times the processor time of a cell it may take when it is run again."""
WALL_PATIENCE, WALL_GRACE = 20, 5.0
"""The same of the wall clock, and seconds beside: how long it takes says more of the machine than of the cell."""
BEFORE, AFTER = 60, 240
"""Characters that are told of a text around its first difference."""


class Said:
    """Answers a cell that is run again as it was answered; what it asks beyond that goes to ``then``."""

    def __init__(self, before: Sequence[Exchange], title: str, then: Callable[[list[Any]], bytes] | None) -> None:
        self._before, self._title, self._then = before, title, then
        self._next = 0

    def answer(self, request: Request) -> bytes:
        """The answer to a request. Raises RebuildDiverged for one that is another than the first time."""
        if self._next == len(self._before):
            if self._then is None:
                more = _around(request.payload.decode(), 0)
                raise RebuildDiverged(f"{self._title}: run again, it made a call more than before: {more}")
            return self._then(request.message)
        expected = self._before[self._next]
        self._next += 1
        self._compare("printed", expected.printed, request.printed)
        self._compare(f"call {self._next} was", expected.request.decode(), request.payload.decode())
        return expected.answer

    def check_ends(self, ends: Sequence[End], expected: Sequence[End]) -> None:
        """Raise RebuildDiverged if a part ended otherwise than the first time, or all before everything was asked.

        ``expected`` are the ends of those parts that had ended then.
        """
        if self._next < len(self._before):
            missing = _around(self._before[self._next].request.decode(), 0)
            raise RebuildDiverged(f"{self._title}: run again, it ended before call {self._next + 1}, {missing}")
        for was, now in zip(expected, ends, strict=False):
            self._compare("printed", was.printed, now.printed)
            self._compare("came to", was.payload.decode(), now.payload.decode())

    def _compare(self, what: str, was: str, now: str) -> None:
        if was != now:
            pairs = enumerate(zip(was, now, strict=False))
            at = next((at for at, (one, other) in pairs if one != other), min(len(was), len(now)))
            raise RebuildDiverged(f"{self._title}: {what} {_around(was, at)}, run again {_around(now, at)}")


class Retold(Conversation):
    """A conversation of which some, or nothing, was held with another worker before: ``said`` answers for that."""

    def __init__(
        self,
        worker: Worker,
        limits: Limits,
        said: Said,
        meanwhile: Callable[[], None] | None = None,
        room: int = MAX_KEPT,
    ) -> None:
        super().__init__(worker, limits, said.answer, meanwhile, room)
        self.said = said


def _around(text: str, at: int) -> str:
    start = max(at - BEFORE, 0)
    part = text[start : at + AFTER]
    return f"{'...' if start else ''}{part}{'...' if start + len(part) < len(text) else ''}"


def run_again(
    cell: FinishedCell, title: str, worker: Worker, limits: Limits, meanwhile: Callable[[], None] | None
) -> None:
    """Run a finished cell in a worker: no function is called. Raises RebuildDiverged, ChannelClosed.

    It may take a little longer than the first time, so that a cell that knows it is run again cannot hold the host.
    """
    patient = limits.model_copy(
        update={
            "wall_seconds": cell.seconds * WALL_PATIENCE + WALL_GRACE,
            "cpu_seconds": min(limits.cpu_seconds, limits.wall_seconds) * PATIENCE,
        }
    )
    talk = Retold(worker, patient, Said(cell.exchanges, title, None), meanwhile)
    try:
        ends = [talk.hold(start) for start in cell.starts]
    except LimitReached as reached:
        fault = limit_fault(reached.name, patient)
        raise RebuildDiverged(f"{title}: run again, it did not finish: {fault.message}") from reached
    except (FrameTooLong, HostileFrame) as error:
        raise RebuildDiverged(f"{title}: run again, it ended its worker: {error}") from error
    except ChannelClosed as error:
        raise ChannelClosed(f"{title}: run again, it ended its worker: {error}") from error
    talk.said.check_ends(ends, cell.ends)


# The session.

Ended = tuple[End, tuple[Fault, ...]]
"""How a cell, or a part of one, ended, and what was wrong."""


class Session:
    """Runs cells in one namespace. Made by ``Sandbox.session``; belongs to one thread at a time.

    ``open_worker`` starts a fresh worker with the session's functions and values in place.
    """

    def __init__(
        self,
        open_worker: Callable[[], Worker],
        answers: Answers,
        limits: Limits,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self._meanwhile = meanwhile
        self._open_worker, self._answers, self._limits = open_worker, answers, limits
        self._cells: list[FinishedCell] = []
        self._busy = self._closed = False
        self._current: Retold | None = None
        self._growing: GrowingCell | None = None
        self._opened: Seen = answers.seen
        self._worker: Worker | None = open_worker()

    @property
    def output(self) -> str:
        """What the cell that runs now, or ran last, has printed so far."""
        return self._current.output if self._current is not None else ""

    @property
    def line(self) -> int | None:
        """The plan line of the call that a host function is carrying out; None where no line of the cell led to it."""
        return self._current.line if self._current is not None else None

    def run(self, code: str, name: str = "cell") -> CellResult:
        """Run a cell. What is wrong with the plan is in the result.

        Raises RebuildDiverged if the worker had to be replaced and could not be brought back to where it was, what else
        ``planbook.sandbox.errors`` lists of workers and sessions, BadAnswer, and what a host function raises beyond
        Exception: such a call ends the worker.
        """
        with self._alone():
            self._current = None
            cell = UnderWay(name, self._answers.new_file(name))
            if refused := self._refused(cell, code, len(code), "run"):
                return CellResult(faults=refused)
            return self._finish(cell, *self._say(cell, code, "run"))

    def grow(self, name: str = "cell") -> "GrowingCell":
        """Begin a cell that is run part by part; until it is finished the session is there for it alone."""
        with self._alone():
            self._current = None
            self._growing = GrowingCell(self, UnderWay(name, self._answers.new_file(name)))
            return self._growing

    def mark(self) -> int:
        """The number of finished cells; ``rewind`` comes back to it."""
        return len(self._cells)

    def rewind(self, mark: int) -> None:
        """Forget every cell after the first ``mark``: they are run again, in a new worker, against recorded answers."""
        if not 0 <= mark <= len(self._cells):
            raise ValueError(f"mark {mark} does not exist: the session has {len(self._cells)} finished cells")
        with self._alone():
            if mark == len(self._cells) and self._worker is not None:
                return
            self._kill()
            del self._cells[mark:]
            self._rebuild()

    def close(self) -> None:
        """End the worker. Closing twice is harmless."""
        self._kill()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _alone(self, growing: "GrowingCell | None" = None) -> Iterator[None]:
        """Guard against use from within a cell; whatever escapes ends the worker."""
        if self._closed:
            raise SandboxClosed("the session is closed")
        if self._busy or self._growing is not growing:
            raise SessionBusy("a cell of this session is running; a nested plan needs a session of its own")
        self._busy = True
        try:
            yield
        except BaseException:
            self._growing = None
            self._kill()
            raise
        finally:
            self._busy = False

    def _refused(self, cell: UnderWay, code: str, chars: int, kind: Kind) -> tuple[Fault, ...]:
        """Return what forbids to run code that makes so many characters of its cell."""
        if chars > self._limits.source_chars:
            return (limit_fault("source", self._limits),)
        return self._answers.compiled(code, cell.file, kind).faults

    def _say(self, cell: UnderWay, source: str, kind: Kind) -> Ended:
        """Run a cell, or its next part. If its worker ends under it, all of it so far is run again in a new one.

        It goes on from what it had been answered: somebody may have killed the worker. What ends a second one at the
        same place is the plan's own doing.
        """
        worker = self._worker or self._rebuild()
        cell.starts.append(self._answers.run(source, cell.name, cell.file, kind))
        if self._current is None:
            self._current = self._conversation(worker, cell, ())
        before, losses, starts = list[Exchange](), Losses(), cell.starts[-1:]
        while True:
            talk = self._current
            try:
                return self._hold(cell, talk, starts)
            except ChannelClosed:
                self._lose(worker, losses, len(talk.exchanges))
            if losses.ends == OWN_ENDS:
                return NO_END, (limit_fault("crashed", self._limits),)
            before, seen = max(before, talk.exchanges, key=len), self._answers.seen
            worker = self._rebuild()
            self._answers.return_to(seen)
            self._current, starts = self._conversation(worker, cell, before), cell.starts

    def _conversation(self, worker: Worker, cell: UnderWay, before: Sequence[Exchange]) -> Retold:
        """That of a cell, ``before`` of which has been said already."""
        said = Said(before, self._title(len(self._cells), cell.name), self._answers.answer)
        room = MAX_KEPT - sum(cell.size for cell in self._cells)
        return Retold(worker, self._limits, said, self._meanwhile, room)

    def _hold(self, cell: UnderWay, talk: Retold, starts: Sequence[bytes]) -> Ended:
        """Hold a conversation. Raises ChannelClosed, and RebuildDiverged of what was run again."""
        end = NO_END
        try:
            ends = [talk.hold(start) for start in starts]
            end = ends[-1]
            faults = read_faults(end.faults)
        except LimitReached as reached:
            faults = (limit_fault(reached.name, self._limits, reached.detail),)
        except (HostileFrame, FrameTooLong) as error:
            end, faults = NO_END, (limit_fault("protocol", self._limits, str(error)),)
        else:
            talk.said.check_ends(ends, cell.ends if len(starts) == len(cell.starts) else ())
        cell.ends.append(end)
        return end, faults

    def _finish(self, cell: UnderWay, end: End, faults: tuple[Fault, ...]) -> CellResult:
        talk = self._current
        if talk is None:
            return CellResult(faults=faults)
        seconds, kinds = talk.seconds, {fault.kind for fault in faults}
        if FaultKind.LIMIT in kinds:
            self._kill()
            faults = tuple(limit_fault(f.type, self._limits) if f.type == "memory" else f for f in faults)
        else:
            said, ends = tuple(talk.exchanges), tuple(cell.ends)
            self._cells.append(
                FinishedCell(cell.name, tuple(cell.starts), said, ends, self._answers.seen, talk.size, seconds)
            )
        return CellResult(talk.output, end.value, faults, talk.calls, seconds)

    def _kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _lose(self, worker: Worker, losses: Losses, place: int) -> None:
        """A worker ended that nobody here has ended. Raises WorkersKilled."""
        losses.count(place, killed=worker.was_killed())
        self._kill()
        if losses.kills == KILLS:
            where = f"at the same place of cell {len(self._cells) + 1}"
            raise WorkersKilled(f"{KILLS} workers in a row were killed from outside {where}; is there enough memory?")

    def _rebuild(self) -> Worker:
        """A new worker, in which every finished cell has run again. Raises RebuildDiverged, WorkersKilled."""
        losses = Losses()
        while True:
            self._answers.return_to(self._opened)
            self._worker = worker = self._open_worker()
            try:
                self._run_again(worker)
            except ChannelClosed as error:
                self._lose(worker, losses, 0)
                if losses.ends == OWN_ENDS:
                    raise RebuildDiverged(str(error)) from error
            else:
                return worker

    def _run_again(self, worker: Worker) -> None:
        for number, cell in enumerate(self._cells):
            run_again(cell, self._title(number, cell.name), worker, self._limits, self._meanwhile)
            self._answers.return_to(cell.seen)

    @staticmethod
    def _title(number: int, name: str) -> str:
        return f"cell {number + 1} ({name})"


class GrowingCell:
    """A cell that is run part by part, while its code is still being written. Made by ``Session.grow``.

    Its parts are one cell: they have one file, one output and one set of limits, and what has run is run again as one.
    Only while a part runs does the plan's clock go on.
    """

    def __init__(self, session: Session, cell: UnderWay) -> None:
        self._session, self._cell = session, cell
        self._chars = 0
        self._ended: Ended = (NO_END, ())

    def run(self, source: str) -> Fault | None:
        """Run the next part: whole statements, behind as many empty lines as stand before them in the whole.

        After a fault there is no further part. Raises as ``Session.run`` does; then the cell is over.
        """
        session = self._session
        with session._alone(self):
            self._chars += len(source.lstrip("\n"))
            if refused := session._refused(self._cell, source, self._chars, "part"):
                self._ended = NO_END, refused
            else:
                self._ended = session._say(self._cell, source, "part")
        return self._ended[1][0] if self._ended[1] else None

    def finish(self) -> CellResult:
        """End the cell; the value is that of a final expression."""
        session = self._session
        with session._alone(self):
            if self._cell.starts and not self._ended[1]:
                self._ended = session._say(self._cell, "", "run")
            session._growing = None
            return session._finish(self._cell, *self._ended)
