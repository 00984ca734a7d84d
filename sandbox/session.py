"""A session: one namespace that keeps its variables from cell to cell. It exists in a separate process, the worker.

A cell is a piece of plan code that is run as a unit. If the worker crashes or is killed, the session is rebuilt: its
cells run again in a new worker. Their calls to host functions get the recorded answers, so that no function is called
twice. In this second run, each cell must make the same requests as in its first run, and have the same output and
value. This is nearly always so, because random numbers, time and the order of sets are the same in every worker. Only
the results of ``id``, and the order of a set of objects that define no hash, may differ.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from planbook.sandbox.answers import Answers, Kind, PlanView
from planbook.sandbox.conversation import (
    CellEnd,
    Conversation,
    Exchange,
    FinishedCell,
    RecordedAnswers,
    read_faults,
)
from planbook.sandbox.process import MAX_CRASHES, MAX_KILLS, WorkerLosses, WorkerProcess
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong, HostileFrame
from planbook.sandbox.types import (
    MAX_KEPT,
    CellResult,
    Fault,
    FaultKind,
    LimitReached,
    Limits,
    RebuildDiverged,
    SandboxClosed,
    SessionBusy,
    WorkersKilled,
    limit_fault,
)

# Running finished cells again in a new worker.

CPU_FACTOR = 2
"""In its second run, a cell may use this many times the processor time that the session's limits allow."""
WALL_FACTOR, WALL_GRACE = 20, 5.0
"""In its second run, a cell may take this many times the wall clock time of its first run, plus this many seconds."""


def _run_again(
    cell: FinishedCell,
    title: str,
    worker: WorkerProcess,
    answers: Answers,
    limits: Limits,
    on_wait: Callable[[], None] | None,
) -> None:
    """Run a finished cell again, in a new worker. No function of the host is called.

    A hostile cell might notice that this is its second run, and stall. So the time limit is derived from the time of
    the first run. Raises RebuildDiverged if the cell behaves differently, or ChannelClosed if the worker is lost.
    """
    wall_seconds = cell.seconds * WALL_FACTOR + WALL_GRACE
    cpu_seconds = min(limits.cpu_seconds, limits.wall_seconds) * CPU_FACTOR
    replay_limits = limits.model_copy(update={"wall_seconds": wall_seconds, "cpu_seconds": cpu_seconds})
    recorded = RecordedAnswers(cell.exchanges, title, complete=True)
    conversation = Conversation(worker, replay_limits, answers.answer, on_wait, recorded=recorded)
    try:
        ends = [conversation.run(start) for start in cell.starts]
    except LimitReached as reached:
        fault = limit_fault(reached.name, replay_limits)
        raise RebuildDiverged(f"{title}: when it ran again, it did not finish: {fault.message}") from reached
    except (FrameTooLong, HostileFrame) as error:
        raise RebuildDiverged(f"{title}: when it ran again, it ended its worker: {error}") from error
    except ChannelClosed as error:
        raise ChannelClosed(f"{title}: when it ran again, it ended its worker: {error}") from error
    recorded.check_ends(ends, cell.ends)


# The session.


class Session:
    """Runs cells in one namespace. Created by ``Sandbox.session``; only one thread may use it at a time.

    ``open_worker`` returns a new worker in which the session's functions and values are defined. ``on_wait`` is called
    regularly while plan code runs.
    """

    def __init__(
        self,
        open_worker: Callable[[], WorkerProcess],
        answers: Answers,
        limits: Limits,
        on_wait: Callable[[], None] | None = None,
    ) -> None:
        self._open_worker, self._answers, self._limits, self._on_wait = open_worker, answers, limits, on_wait
        self._cells: list[FinishedCell] = []
        self._busy = self._closed = False
        self._ended_by_plan = False
        """True after the plan itself ended the worker, until the session is rebuilt."""
        self._owner = os.getpid()
        self._current: Conversation | None = None
        self._growing: GrowingCell | None = None
        self._start_view: PlanView = answers.view
        self._worker: WorkerProcess | None = open_worker()

    @property
    def output(self) -> str:
        """The output so far of the running cell. If no cell is running, the whole output of the last cell."""
        return self._current.output if self._current is not None else ""

    @property
    def line(self) -> int | None:
        """The line of the cell that led to its latest call to a host function, or None if no such line is known."""
        return self._current.line if self._current is not None else None

    def run(self, code: str, name: str = "cell") -> CellResult:
        """Run a cell and return its result. Faults of the plan are in the result and are not raised.

        The next cell sees the names that this cell defines, even if this cell ends with an exception. If the cell
        reaches a limit, its names are lost, but its calls have taken effect. ``name`` is the name of the cell in
        tracebacks.

        Raises RebuildDiverged if the worker had to be replaced and its state could not be restored, BadAnswer if the
        result of a host function cannot be sent to the plan, and the errors in ``planbook.sandbox.types`` about workers
        and sessions. If a host function raises a SandboxError, or a BaseException such as KeyboardInterrupt, that
        exception passes through and ends the worker.
        """
        with self._exclusive():
            cell = self._begin(name)
            if not self._is_refused(cell, code, "run", len(code)):
                cell.faults = self._execute(cell, code, "run")
            return self._finish(cell)

    def grow(self, name: str = "cell") -> "GrowingCell":
        """Begin a cell that is run in parts, and return it. The session runs no other cell until this one has ended."""
        with self._exclusive():
            self._growing = self._begin(name)
            return self._growing

    def mark(self) -> int:
        """Return a mark, to which ``rewind`` can return the session. A mark is the number of finished cells."""
        return len(self._cells)

    def rewind(self, mark: int) -> None:
        """Return to a mark: keep only the first ``mark`` cells.

        These cells run again in a new worker, unless no cell is dropped and the worker still exists. Raises ValueError
        if the session has fewer than ``mark`` finished cells, and the errors that ``run`` raises about workers and
        sessions.
        """
        if not 0 <= mark <= len(self._cells):
            raise ValueError(f"mark {mark} does not exist: the session has {len(self._cells)} finished cells")
        with self._exclusive():
            if mark == len(self._cells) and self._worker is not None:
                return
            self._kill()
            del self._cells[mark:]
            if not self._ended_by_plan:  # otherwise the next cell rebuilds: a cell that differs is the plan's fault
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
        """Reserve the session for one operation: the body of the ``with`` statement.

        ``growing`` is the cell in parts that the operation continues or finishes, if any. If the body raises an
        exception, the worker is ended. Raises SessionBusy if another cell is running or growing (being run in parts),
        or SandboxClosed if the session is closed or belongs to another process.
        """
        if self._closed:
            raise SandboxClosed("the session is closed")
        if os.getpid() != self._owner:
            raise SandboxClosed("the session belongs to another process: open a new one in this process")
        if growing is not None and self._growing is not growing:
            raise SessionBusy("this cell has ended: begin another one with Session.grow")
        if self._busy or self._growing is not growing:
            raise SessionBusy("a cell of this session is running; a nested plan needs its own session")
        self._busy = True
        try:
            yield
        except BaseException:
            self._growing = None
            self._kill()
            raise
        finally:
            self._busy = False

    def _begin(self, name: str) -> "GrowingCell":
        self._current = None
        return GrowingCell(self, name, self._answers.new_file(name))

    def _is_refused(self, cell: "GrowingCell", source: str, kind: Kind, chars: int) -> bool:
        """Return whether the code of a cell or of its next part is refused. The faults are then in ``cell.faults``.

        ``chars`` is the length of the cell's code so far, including ``source``.
        """
        too_long = (limit_fault("source", self._limits),) if chars > self._limits.source_chars else ()
        cell.faults = too_long or self._answers.compile(source, cell.file, kind).faults
        return bool(cell.faults)

    def _execute(self, cell: "GrowingCell", source: str, kind: Kind) -> tuple[Fault, ...]:
        """Run a cell or its next part, and return the faults. If the worker is lost, repeat the cell in a new worker.

        A single lost worker is not held against the plan, since the worker may have been killed from outside. If
        MAX_CRASHES workers crash at the same place, the plan is to blame, and the cell ends with a fault. The same
        happens if this cell or an earlier one differs from its first run after a crash, or after a cell that reached a
        limit. The limits hold for the time in all workers together, except for the first one if it was killed from
        outside.
        """
        worker, losses, was_lost = self._worker or self._rebuild_or_fault(), WorkerLosses(), False
        if isinstance(worker, Fault):
            return (worker,)
        cell.starts.append(self._answers.run(source, cell.name, cell.file, kind))
        conversation, starts = self._current or self._conversation(worker, cell), cell.starts[-1:]
        while True:
            self._current, ends = conversation, list[CellEnd]()
            try:
                for start in starts:
                    ends.append(conversation.run(start))
                faults = read_faults(ends[-1].faults)
                conversation.recorded.check_ends(ends, cell.ends if len(starts) == len(cell.starts) else ())
            except LimitReached as reached:
                return (limit_fault(reached.name, self._limits),)
            except (HostileFrame, FrameTooLong) as error:
                return (limit_fault("protocol", self._limits, str(error)),)
            except RebuildDiverged as error:
                if not losses.any_crash:
                    raise
                return (limit_fault("crashed", self._limits, str(error)),)
            except ChannelClosed:
                spent = conversation.spent
                self._lose(worker, losses, len(conversation.exchanges))
                self._ended_by_plan = losses.any_crash
                if losses.crashes == MAX_CRASHES:
                    return (limit_fault("crashed", self._limits),)
                if not (losses.any_crash or was_lost):
                    spent = 0.0, 0.0  # one kill from outside costs the plan no time
                past, was_lost = max(conversation.recorded.exchanges, conversation.exchanges, key=len), True
                view = self._answers.view
                worker = self._rebuild_or_fault()
                if isinstance(worker, Fault):
                    return (worker,)
                self._answers.restore(view)
                conversation, starts = self._conversation(worker, cell, past, spent), cell.starts
            else:
                cell.ends.append(ends[-1])
                return faults

    def _conversation(
        self,
        worker: WorkerProcess,
        cell: "GrowingCell",
        past: Sequence[Exchange] = (),
        spent: tuple[float, float] = (0.0, 0.0),
    ) -> Conversation:
        """Return a conversation for the cell. Its first requests get the answers in ``past``, not new ones."""
        recorded = RecordedAnswers(past, _title(len(self._cells), cell.name))
        max_size = MAX_KEPT - sum(cell.size for cell in self._cells)
        return Conversation(worker, self._limits, self._answers.answer, self._on_wait, max_size, recorded, spent)

    def _finish(self, cell: "GrowingCell") -> CellResult:
        """Return the result of a cell that has ended. End the worker if it reached a limit. Otherwise keep the cell."""
        conversation, faults = self._current, cell.faults
        if conversation is None:
            return CellResult(faults=faults)
        seconds, exchanges = conversation.seconds, tuple(conversation.exchanges)
        if any(fault.kind is FaultKind.LIMIT for fault in faults):
            self._kill()
            self._ended_by_plan = True
            faults = tuple(limit_fault(f.type, self._limits) if f.type == "memory" else f for f in faults)
        else:
            starts, ends, view = tuple(cell.starts), tuple(cell.ends), self._answers.view
            self._cells.append(FinishedCell(cell.name, starts, exchanges, ends, view, conversation.size, seconds))
        value = None if faults else cell.ends[-1].value
        return CellResult(conversation.output, value, faults, conversation.calls, seconds)

    def _kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _lose(self, worker: WorkerProcess, losses: WorkerLosses, answer_count: int) -> None:
        """Count a worker that was lost after it had received ``answer_count`` answers.

        Raises WorkersKilled if MAX_KILLS workers were killed at the same place.
        """
        losses.count(answer_count, killed=worker.was_killed())
        self._kill()
        if losses.kills == MAX_KILLS:
            place = f"at the same place in cell {len(self._cells) + 1}"
            raise WorkersKilled(
                f"{MAX_KILLS} workers in a row were killed from outside {place}; is there enough memory?"
            )

    def _rebuild_or_fault(self) -> WorkerProcess | Fault:
        """Return a new worker, as ``_rebuild`` does. If the plan ended the last one, a cell that differs is a fault."""
        try:
            return self._rebuild()
        except RebuildDiverged as error:
            self._kill()
            if not self._ended_by_plan:
                raise
            return limit_fault("crashed", self._limits, str(error))

    def _rebuild(self) -> WorkerProcess:
        """Return a new worker in which every finished cell has run again.

        Raises RebuildDiverged if a cell behaves differently, WorkersKilled if the new workers are killed as well, or
        SandboxClosed if the session is closed; a host function that the plan calls may have closed it.
        """
        if self._closed:
            raise SandboxClosed("the session is closed")
        losses = WorkerLosses()
        while True:
            self._answers.restore(self._start_view)
            self._worker = worker = self._open_worker()
            try:
                for number, cell in enumerate(self._cells):
                    _run_again(cell, _title(number, cell.name), worker, self._answers, self._limits, self._on_wait)
                    self._answers.restore(cell.view)
            except ChannelClosed as error:
                self._lose(worker, losses, 0)
                if losses.crashes == MAX_CRASHES:
                    raise RebuildDiverged(str(error)) from error
            else:
                self._ended_by_plan = False
                return worker


def _title(number: int, name: str) -> str:
    return f"cell {number + 1} ({name})"


class GrowingCell:
    """A running cell. ``Session.grow`` returns one that is run in parts while its code is still being written.

    The parts share one file name, one output and one set of limits. If the worker is lost, all parts that have run so
    far run again. The time between two parts does not count towards the cell's limits.
    """

    def __init__(self, session: Session, name: str, file: str) -> None:
        self.name, self.file = name, file
        self.starts: list[bytes] = []
        """The messages that started the parts."""
        self.ends: list[CellEnd] = []
        self.faults: tuple[Fault, ...] = ()
        """The faults of the last part."""
        self._session, self._chars = session, 0

    def run(self, source: str) -> Fault | None:
        """Run the next part, and return its first fault, or None if it has none. After a fault, no part may follow.

        ``source`` contains whole statements. In front of them it has one empty line for each line of the earlier parts,
        so that line numbers refer to the whole cell. Raises the same errors as ``Session.run``. An error also ends the
        cell.
        """
        with self._session._exclusive(self):
            self._chars += len(source.lstrip("\n"))
            if not self._session._is_refused(self, source, "part", self._chars):
                self.faults = self._session._execute(self, source, "part")
        return self.faults[0] if self.faults else None

    def finish(self) -> CellResult:
        """End the cell and return its result. If the last part ends with an expression, the result has its value."""
        session = self._session
        with session._exclusive(self):
            if self.starts and not self.faults:
                self.faults = session._execute(self, "", "run")
            session._growing = None
            return session._finish(self)
