"""A session: one namespace that lives across cells, in a separate worker.

When its worker is lost, the session is rebuilt: its cells run again in a new worker and get the recorded answers, so
that no function is called twice. Requests, output and value must be the same as the first time. They nearly always are,
since random numbers, time and the order of sets are the same in every worker. ``id`` and the order of a set of objects
that define no hash may differ.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from planbook.sandbox.answers import Answers, Kind, PlanView
from planbook.sandbox.conversation import (
    NO_END,
    CellEnd,
    Conversation,
    Exchange,
    FinishedCell,
    RecordedAnswers,
    RunningCell,
    read_faults,
)
from planbook.sandbox.errors import RebuildDiverged, SandboxClosed, SessionBusy, WorkersKilled
from planbook.sandbox.process import MAX_CRASHES, MAX_KILLS, WorkerLosses, WorkerProcess
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong, HostileFrame
from planbook.sandbox.types import MAX_KEPT, CellResult, Fault, FaultKind, LimitReached, Limits, limit_fault

# Running cells again.

CPU_FACTOR = 2
"""A repeated cell may take this many times the processor time of its limit."""
WALL_FACTOR, WALL_GRACE = 20, 5.0
"""A repeated cell may take this many times the wall clock time of its first run, plus this many seconds."""


def _run_again(
    cell: FinishedCell,
    title: str,
    worker: WorkerProcess,
    answers: Answers,
    limits: Limits,
    meanwhile: Callable[[], None] | None,
) -> None:
    """Run a finished cell in a worker without calling any function. Raises RebuildDiverged or ChannelClosed.

    Its time limit is derived from its first run, so a cell that detects the repetition cannot hold up the host.
    """
    wall_seconds = cell.seconds * WALL_FACTOR + WALL_GRACE
    cpu_seconds = min(limits.cpu_seconds, limits.wall_seconds) * CPU_FACTOR
    replay_limits = limits.model_copy(update={"wall_seconds": wall_seconds, "cpu_seconds": cpu_seconds})
    recorded = RecordedAnswers(cell.exchanges, title, complete=True)
    conversation = Conversation(worker, replay_limits, answers.answer, meanwhile, recorded=recorded)
    try:
        ends = [conversation.run(start) for start in cell.starts]
    except LimitReached as reached:
        fault = limit_fault(reached.name, replay_limits)
        raise RebuildDiverged(f"{title}: run again, it did not finish: {fault.message}") from reached
    except (FrameTooLong, HostileFrame) as error:
        raise RebuildDiverged(f"{title}: run again, it ended its worker: {error}") from error
    except ChannelClosed as error:
        raise ChannelClosed(f"{title}: run again, it ended its worker: {error}") from error
    recorded.check_ends(ends, cell.ends)


# The session.

PartEnd = tuple[CellEnd, tuple[Fault, ...]]
"""The end of a cell or a part of one, and its faults."""


class Session:
    """Runs cells in one namespace. Created by ``Sandbox.session``; only one thread may use it at a time.

    ``open_worker`` starts a fresh worker with the session's functions and values in place.
    """

    def __init__(
        self,
        open_worker: Callable[[], WorkerProcess],
        answers: Answers,
        limits: Limits,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self._open_worker, self._answers, self._limits, self._meanwhile = open_worker, answers, limits, meanwhile
        self._cells: list[FinishedCell] = []
        self._busy = self._closed = False
        self._current: Conversation | None = None
        self._growing: GrowingCell | None = None
        self._start_view: PlanView = answers.view
        self._worker: WorkerProcess | None = open_worker()

    @property
    def output(self) -> str:
        """The output so far of the cell that is running, or that of the last one."""
        return self._current.output if self._current is not None else ""

    @property
    def line(self) -> int | None:
        """The line of the cell that led to the current call to a host function; None if no line of the cell did."""
        return self._current.line if self._current is not None else None

    def run(self, code: str, name: str = "cell") -> CellResult:
        """Run a cell and return its result. Faults of the plan are in the result and are not raised.

        The next cell sees the names that this one defines, even after an exception. If the cell reaches a limit, its
        names are lost, but its calls have taken effect. ``name`` names the cell's file in tracebacks.

        Raises RebuildDiverged if the worker had to be replaced and its state could not be restored, BadAnswer, and the
        errors in ``planbook.sandbox.errors`` about workers and sessions. A SandboxError of a host function, or a
        BaseException such as KeyboardInterrupt, passes through and ends the worker.
        """
        with self._exclusive():
            self._current = None
            cell = RunningCell(name, self._answers.new_file(name))
            if refused := self._check_code(cell, code, len(code), "run"):
                return CellResult(faults=refused)
            return self._finish(cell, *self._run_part(cell, code, "run"))

    def grow(self, name: str = "cell") -> "GrowingCell":
        """Begin and return a cell that is run in parts. Until it is finished, the session runs nothing else."""
        with self._exclusive():
            self._current = None
            self._growing = GrowingCell(self, RunningCell(name, self._answers.new_file(name)))
            return self._growing

    def mark(self) -> int:
        """Return a mark for ``rewind``: the number of finished cells."""
        return len(self._cells)

    def rewind(self, mark: int) -> None:
        """Keep only the first ``mark`` cells; run them again in a new worker if any is dropped or the worker is gone.

        Raises ValueError if there are fewer cells, and what ``run`` raises about workers and sessions.
        """
        if not 0 <= mark <= len(self._cells):
            raise ValueError(f"mark {mark} does not exist: the session has {len(self._cells)} finished cells")
        with self._exclusive():
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

    def __exit__(self, *_raised: object) -> None:
        self.close()

    @contextmanager
    def _exclusive(self, growing: "GrowingCell | None" = None) -> Iterator[None]:
        """Reserve the session for one operation. An exception that escapes ends the worker.

        Raises SessionBusy if a cell is running or growing, or SandboxClosed.
        """
        if self._closed:
            raise SandboxClosed("the session is closed")
        if growing is not None and self._growing is not growing:
            raise SessionBusy("this cell has ended: begin another one with Session.grow")
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

    def _check_code(self, cell: RunningCell, code: str, chars: int, kind: Kind) -> tuple[Fault, ...]:
        """Return the faults for which the code is refused. ``chars`` is the length of its cell, with this code."""
        if chars > self._limits.source_chars:
            return (limit_fault("source", self._limits),)
        return self._answers.compile(code, cell.file, kind).faults

    def _run_part(self, cell: RunningCell, source: str, kind: Kind) -> PartEnd:
        """Run a cell or its next part, and return its end. If the worker is lost, repeat the cell in a new one.

        The worker may have been killed from outside. If a second one crashes at the same place, the plan is at fault.
        """
        worker, losses = self._worker or self._rebuild(), WorkerLosses()
        cell.starts.append(self._answers.run(source, cell.name, cell.file, kind))
        conversation, starts = self._current or self._conversation(worker, cell), cell.starts[-1:]
        while True:
            self._current, end, ends = conversation, NO_END, list[CellEnd]()
            try:
                for start in starts:
                    ends.append(conversation.run(start))
                faults = read_faults(ends[-1].faults)
                conversation.recorded.check_ends(ends, cell.ends if len(starts) == len(cell.starts) else ())
                end = ends[-1]
            except LimitReached as reached:
                faults = (limit_fault(reached.name, self._limits),)
            except (HostileFrame, FrameTooLong) as error:
                faults = (limit_fault("protocol", self._limits, str(error)),)
            except ChannelClosed:
                self._lose(worker, losses, len(conversation.exchanges))
                if losses.crashes == MAX_CRASHES:
                    return NO_END, (limit_fault("crashed", self._limits),)
                past = max(conversation.recorded.exchanges, conversation.exchanges, key=len)
                view, worker = self._answers.view, self._rebuild()
                self._answers.restore(view)
                conversation, starts = self._conversation(worker, cell, past), cell.starts
                continue
            cell.ends.append(end)
            return end, faults

    def _conversation(self, worker: WorkerProcess, cell: RunningCell, past: Sequence[Exchange] = ()) -> Conversation:
        recorded = RecordedAnswers(past, _title(len(self._cells), cell.name))
        room = MAX_KEPT - sum(cell.size for cell in self._cells)
        return Conversation(worker, self._limits, self._answers.answer, self._meanwhile, room, recorded)

    def _finish(self, cell: RunningCell, end: CellEnd, faults: tuple[Fault, ...]) -> CellResult:
        conversation = self._current
        if conversation is None:
            return CellResult(faults=faults)
        seconds, exchanges = conversation.seconds, tuple(conversation.exchanges)
        if any(fault.kind is FaultKind.LIMIT for fault in faults):
            self._kill()
            faults = tuple(limit_fault(f.type, self._limits) if f.type == "memory" else f for f in faults)
        else:
            starts, ends, view = tuple(cell.starts), tuple(cell.ends), self._answers.view
            self._cells.append(FinishedCell(cell.name, starts, exchanges, ends, view, conversation.size, seconds))
        return CellResult(conversation.output, end.value, faults, conversation.calls, seconds)

    def _kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _lose(self, worker: WorkerProcess, losses: WorkerLosses, place: int) -> None:
        """Count a worker that crashed or was killed from outside. Raises WorkersKilled if too many were killed."""
        losses.count(place, killed=worker.was_killed())
        self._kill()
        if losses.kills == MAX_KILLS:
            where = f"at the same place of cell {len(self._cells) + 1}"
            raise WorkersKilled(
                f"{MAX_KILLS} workers in a row were killed from outside {where}; is there enough memory?"
            )

    def _rebuild(self) -> WorkerProcess:
        """Return a new worker in which every finished cell has run again.

        Raises RebuildDiverged or WorkersKilled, or SandboxClosed if one of the session's own functions has closed it.
        """
        if self._closed:
            raise SandboxClosed("the session is closed")
        losses = WorkerLosses()
        while True:
            self._answers.restore(self._start_view)
            self._worker = worker = self._open_worker()
            try:
                for number, cell in enumerate(self._cells):
                    _run_again(cell, _title(number, cell.name), worker, self._answers, self._limits, self._meanwhile)
                    self._answers.restore(cell.view)
            except ChannelClosed as error:
                self._lose(worker, losses, 0)
                if losses.crashes == MAX_CRASHES:
                    raise RebuildDiverged(str(error)) from error
            else:
                return worker


def _title(number: int, name: str) -> str:
    return f"cell {number + 1} ({name})"


class GrowingCell:
    """A cell that is run in parts while its code is still being written. Created by ``Session.grow``.

    The parts share one file, one output and one set of limits, and are repeated together. The plan's clock advances
    only while a part runs.
    """

    def __init__(self, session: Session, cell: RunningCell) -> None:
        self._session, self._cell = session, cell
        self._chars = 0
        self._end: PartEnd = (NO_END, ())

    def run(self, source: str) -> Fault | None:
        """Run the next part, and return its fault, if any.

        ``source`` has whole statements, preceded by one empty line for each line already run, to keep the line numbers.
        No part may follow a fault. Raises what ``Session.run`` raises; the cell is over then.
        """
        session = self._session
        with session._exclusive(self):
            self._chars += len(source.lstrip("\n"))
            if refused := session._check_code(self._cell, source, self._chars, "part"):
                self._end = NO_END, refused
            else:
                self._end = session._run_part(self._cell, source, "part")
        return self._end[1][0] if self._end[1] else None

    def finish(self) -> CellResult:
        """End the cell and return its result, with the value of a final expression."""
        session = self._session
        with session._exclusive(self):
            if self._cell.starts and not self._end[1]:
                self._end = session._run_part(self._cell, "", "run")
            session._growing = None
            return session._finish(self._cell, *self._end)
