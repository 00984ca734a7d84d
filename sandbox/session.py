"""A session: one namespace that keeps its variables from cell to cell. It exists in a separate process, the worker.

A cell is a piece of plan code that runs as a unit. If the worker crashes or is killed, the session is rebuilt: its
cells run again in a new worker. Their calls to host functions get the recorded answers, so that no function is called
twice. In its second run, each cell must make the same requests, and have the same output and value, as in its first.
Nearly every cell does, because random numbers, the time and the hashes of strings are the same in every worker. Only
the results of ``id``, and the order of a set of objects that define no hash, can differ.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from planbook.sandbox.answers import Answers, CellKind
from planbook.sandbox.conversation import CellRecord, Conversation, read_faults
from planbook.sandbox.process import MAX_CRASHES, MAX_KILLS, WorkerLosses, WorkerProcess
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong, HostileFrame
from planbook.sandbox.types import (
    MAX_RECORD_BYTES,
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

MAX_CELL_CRASHES = 10
"""Number of workers that may crash at any place in one cell. The limit is needed because all earlier cells run again in
each new worker, for a time that counts towards no limit of the cell.
"""
CPU_FACTOR = 2
"""The processor time of a cell's second run is limited to this many times the session's limit."""
WALL_FACTOR, WALL_GRACE = 20, 5.0
"""The wall clock time of a cell's second run is limited to this many times that of its first, plus these seconds."""


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
        self._start = CellRecord("", "", "", answers.view, MAX_RECORD_BYTES)
        """An empty record, which precedes that of the first cell."""
        self._cells: list[CellRecord] = []
        self._busy = self._closed = False
        self._ended_by_plan = False
        """True after the plan itself ended the worker, until the session is rebuilt."""
        self._owner_pid = os.getpid()
        self._conversation: Conversation | None = None
        self._growing: GrowingCell | None = None
        self._worker: WorkerProcess | None = open_worker()

    @property
    def output(self) -> str:
        """The output of the running cell so far, or the whole output of the last cell if none is running."""
        return self._conversation.output if self._conversation is not None else ""

    @property
    def line(self) -> int | None:
        """The line of the cell that made the latest call to a host function, or None if it is unknown."""
        return self._conversation.line if self._conversation is not None else None

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
            self._execute(cell, code, "run")
            return self._finish(cell)

    def grow(self, name: str = "cell") -> "GrowingCell":
        """Begin and return a cell that runs in parts. Until it has ended, the session runs no other cell."""
        with self._exclusive():
            self._growing = GrowingCell(self, self._begin(name))
            return self._growing

    def mark(self) -> int:
        """Return a mark to which ``rewind`` can return the session. A mark is the number of finished cells."""
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
            if not self._ended_by_plan:  # else the next cell rebuilds, and the plan is at fault if a cell differs
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

        ``growing`` is the growing cell, if any, that the operation continues or finishes. If the body raises an
        exception, end the worker. Raises SessionBusy if another cell is running or growing, or SandboxClosed if the
        session is closed or belongs to another process.
        """
        if self._closed:
            raise SandboxClosed("the session is closed")
        if os.getpid() != self._owner_pid:
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

    def _begin(self, name: str) -> CellRecord:
        self._conversation = None
        last = self._cells[-1] if self._cells else self._start
        names = last.names.union(*(cell.names for cell in self._cells))
        file, title = self._answers.begin_cell(name, last.view, names), f"cell {len(self._cells) + 1} ({name})"
        return CellRecord(name, file, title, last.view, last.bytes_left, names=names)

    def _execute(self, cell: CellRecord, source: str, kind: CellKind) -> None:
        """Check and run a cell or its next part, and set ``cell.faults``."""
        cell.chars += len(source.lstrip("\n") if kind == "part" else source)
        too_long = (limit_fault("source", self._limits),) if cell.chars > self._limits.source_chars else ()
        cell.faults = too_long or self._answers.compile(source, cell.file, kind).faults
        if cell.faults:
            return
        try:
            self._run(cell, source, kind)
            cell.faults = read_faults(cell.end[2])
        except LimitReached as reached:
            self._kill()
            cell.faults = (limit_fault(reached.name, self._limits, reached.detail),)
        except (HostileFrame, FrameTooLong) as error:
            self._kill()
            cell.faults = (limit_fault("protocol", self._limits, str(error)),)

    def _run(self, cell: CellRecord, source: str, kind: CellKind) -> None:
        """Run a cell or its next part. If the worker is lost, repeat the cell in a new worker.

        The plan is not blamed for a single lost worker, which may have been killed from outside. If MAX_CRASHES workers
        crash at the same place, or MAX_CELL_CRASHES anywhere in the cell, the plan is to blame, and the cell reaches
        the limit "crashed". It also does if this cell or an earlier one differs from its first run after a crash, or
        after a cell that reached a limit. The limits apply to the time in all workers together, except the first one
        if it was killed from outside. Raises LimitReached, and the errors that ``Session.run`` raises.
        """
        worker, losses = self._worker or self._rebuild(), WorkerLosses()
        self._conversation = self._conversation or self._new_conversation(worker, cell, self._limits)
        cell.start_messages += cell.count_memory((self._answers.start_message(source, cell.name, cell.file, kind),))
        while True:
            try:
                return self._conversation.run()
            except RebuildDiverged as error:
                if not losses.has_crashes:
                    raise
                raise LimitReached("crashed", str(error)) from error
            except ChannelClosed:
                cell.used_seconds = self._conversation.used_seconds
                cell.crashes += not self._handle_loss(worker, losses, self._conversation.exchange_count)
                self._ended_by_plan = losses.has_crashes
                if losses.crashes == MAX_CRASHES or cell.crashes == MAX_CELL_CRASHES:
                    raise LimitReached("crashed") from None
                if losses.total == 1 and not losses.has_crashes:
                    cell.used_seconds = 0.0, 0.0  # one kill from outside costs the plan no time
            worker = self._rebuild()
            self._conversation = self._new_conversation(worker, cell, self._limits)

    def _new_conversation(self, worker: WorkerProcess, cell: CellRecord, limits: Limits) -> Conversation:
        return Conversation(worker, cell, limits, self._answers.answer, self._on_wait)

    def _finish(self, cell: CellRecord) -> CellResult:
        """Return the result of an ended cell. If it reached a limit, end the worker; otherwise keep the cell."""
        conversation, faults = self._conversation, cell.faults
        if conversation is None:
            return CellResult(faults=faults)
        cell.view, cell.seconds, cell.used_seconds = self._answers.view, conversation.seconds, (0.0, 0.0)
        if any(fault.kind is FaultKind.LIMIT for fault in faults):
            self._kill()
            self._ended_by_plan = True
            faults = tuple(limit_fault(f.type, self._limits) if f.type == "memory" else f for f in faults)
        else:
            cell.names = self._answers.names - cell.names  # all names in every record would take quadratic memory
            self._cells.append(cell)
        value = None if faults else cell.end[1]
        return CellResult(conversation.output, value, faults, conversation.calls, cell.seconds)

    def _kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _handle_loss(self, worker: WorkerProcess, losses: WorkerLosses, exchanges: int) -> bool:
        """Count and end a lost worker, and return whether it was killed from outside.

        ``exchanges`` is the number of its exchanges for the cell. Raises WorkersKilled if MAX_KILLS workers were killed
        at the same place.
        """
        killed = worker.was_killed()
        losses.count(exchanges, killed=killed)
        self._kill()
        if losses.kills == MAX_KILLS:
            place = f"at the same place in cell {len(self._cells) + 1}"
            raise WorkersKilled(
                f"{MAX_KILLS} workers in a row were killed from outside {place}; is there enough memory?"
            )
        return killed

    def _rebuild(self) -> WorkerProcess:
        """Return a new worker in which every finished cell has run again.

        If a cell behaves differently, raises LimitReached if the plan ended the last worker, and RebuildDiverged if
        not. Raises WorkersKilled if the new workers are killed as well, or SandboxClosed if the session is closed, for
        example by a host function that the plan called.
        """
        if self._closed:
            raise SandboxClosed("the session is closed")
        try:
            worker = self._try_rebuild(WorkerLosses())
        except RebuildDiverged as error:
            self._kill()
            if not self._ended_by_plan:
                raise
            raise LimitReached("crashed", str(error)) from error
        self._ended_by_plan = False
        return worker

    def _try_rebuild(self, losses: WorkerLosses) -> WorkerProcess:
        while True:
            self._worker = worker = self._open_worker()
            try:
                for cell in self._cells:
                    self._run_again(cell, worker)
            except ChannelClosed as error:
                self._handle_loss(worker, losses, 0)
                if losses.crashes == MAX_CRASHES:
                    raise RebuildDiverged(str(error)) from error
            else:
                return worker

    def _run_again(self, cell: CellRecord, worker: WorkerProcess) -> None:
        """Run a finished cell again in a new worker, without calling functions of the host.

        A hostile cell might notice its second run and stall, so the time limit depends on the time of the first run.
        Raises RebuildDiverged if the cell behaves differently, or ChannelClosed if the worker is lost.
        """
        wall_seconds = cell.seconds * WALL_FACTOR + WALL_GRACE
        cpu_seconds = min(self._limits.cpu_seconds, self._limits.wall_seconds) * CPU_FACTOR
        limits = self._limits.model_copy(update={"wall_seconds": wall_seconds, "cpu_seconds": cpu_seconds})
        failure = f"{cell.title}: when it ran again, it"
        try:
            self._new_conversation(worker, cell, limits).run()
        except LimitReached as reached:
            raise RebuildDiverged(f"{failure} did not finish: {limit_fault(reached.name, limits).message}") from reached
        except (FrameTooLong, HostileFrame) as error:
            raise RebuildDiverged(f"{failure} ended its worker: {error}") from error
        except ChannelClosed as error:
            raise ChannelClosed(f"{failure} ended its worker: {error}") from error


class GrowingCell:
    """A cell that runs in parts while its code is still being written. Created by ``Session.grow``.

    The parts share one file name, one output and one set of limits. If the worker is lost, all parts that have run so
    far run again. The time between two parts does not count towards the cell's limits.
    """

    def __init__(self, session: Session, cell: CellRecord) -> None:
        self._session, self._cell = session, cell

    def run(self, source: str) -> Fault | None:
        """Run the next part, and return its first fault or None. After a fault, no part may follow.

        ``source`` contains whole statements, preceded by one empty line for each line of the earlier parts, so that
        line numbers refer to the whole cell. Raises the same errors as ``Session.run``. An error also ends the
        cell.
        """
        with self._session._exclusive(self):
            self._session._execute(self._cell, source, "part")
        return self._cell.faults[0] if self._cell.faults else None

    def finish(self) -> CellResult:
        """End the cell and return its result. If the last part ends with an expression, the result has its value."""
        session, cell = self._session, self._cell
        with session._exclusive(self):
            if cell.start_messages and not cell.faults:
                session._execute(cell, "", "run")
            session._growing = None
            return session._finish(cell)
