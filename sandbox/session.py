"""A session: one namespace that lives across cells, in a worker of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from sandbox import messages
from sandbox.answers import Answers, Seen
from sandbox.cell import Conversation, Exchange, FinishedCell
from sandbox.errors import RebuildDiverged, SandboxClosed, SessionBusy
from sandbox.limits import LimitReached, limit_fault
from sandbox.messages import HostileFrame
from sandbox.process import Worker
from sandbox.protocol import ChannelClosed, FrameTooLong
from sandbox.rerun import Said, run_again
from sandbox.types import CellResult, Fault, FaultKind, Limits


class Session:
    """Runs cells in one namespace. Made by ``Sandbox.session``; belongs to one thread at a time.

    ``open_worker`` starts a fresh worker with the session's functions and values in place; ``check_zygote`` raises
    WorkerFailed if it was not the plan that ended a worker, but the end of them all.
    """

    def __init__(
        self,
        open_worker: Callable[[], Worker],
        answers: Answers,
        limits: Limits,
        check_zygote: Callable[[], None] = lambda: None,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self._meanwhile = meanwhile
        self._check_zygote = check_zygote
        self._open_worker, self._answers, self._limits = open_worker, answers, limits
        self._cells: list[FinishedCell] = []
        self._busy = self._closed = False
        self._current: Conversation | None = None
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

        Raises RebuildDiverged if the worker had to be replaced and could not be brought back to where it was, and what
        a host function raises beyond Exception: such a call ends the worker.
        """
        with self._alone():
            self._current = None
            if refused := self._refused(code):
                return CellResult(faults=(refused,))
            worker = self._worker or self._rebuild()
            start = self._answers.run(code, name)
            try:
                return self._converse(worker, name, start, ())
            except ChannelClosed:
                self._check_zygote()
            return self._go_on(name, start)

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
    def _alone(self) -> Iterator[None]:
        """Guard against use from within a cell; whatever escapes ends the worker."""
        if self._closed:
            raise SandboxClosed("the session is closed")
        if self._busy:
            raise SessionBusy("a cell of this session is running; a nested plan needs a session of its own")
        self._busy = True
        try:
            yield
        except BaseException:
            self._kill()
            raise
        finally:
            self._busy = False

    def _refused(self, code: str) -> Fault | None:
        if len(code) > self._limits.source_chars:
            return limit_fault("source", self._limits)
        try:
            code.encode()
        except UnicodeEncodeError as error:
            line = code.count("\n", 0, error.start) + 1
            return Fault(FaultKind.CHECK, "SyntaxError", "the code has a lone surrogate, which is no character", line)
        return None

    def _converse(self, worker: Worker, name: str, start: bytes, before: Sequence[Exchange]) -> CellResult:
        """Hold the conversation of a cell, ``before`` of it having been said already. Raises ChannelClosed."""
        said = Said(before, f"cell {len(self._cells) + 1} ({name})", self._answers.answer)
        talk = self._current = Conversation(worker, self._limits, said.answer, self._meanwhile)
        try:
            _, value, reports = talk.hold(start)
            faults = messages.faults(reports)
            if talk.has_begun and any(fault.kind is FaultKind.CHECK for fault in faults):
                raise HostileFrame("it refused the code after it had run")  # noqa: TRY301
        except LimitReached as reached:
            value, faults = None, (limit_fault(reached.name, self._limits, reached.detail),)
        except (HostileFrame, FrameTooLong) as error:
            value, faults = None, (limit_fault("protocol", self._limits, str(error)),)
        return self._finish(name, start, talk, value, faults)

    def _go_on(self, name: str, start: bytes) -> CellResult:
        """Run a cell whose worker ended under it once more, in a new one, from what it had been answered on.

        Somebody may have killed the worker. What ends a second one is the plan's own doing.
        """
        assert self._current is not None
        ended, seen = self._current, self._answers.seen
        self._kill()
        worker = self._rebuild()
        self._answers.return_to(seen)
        try:
            return self._converse(worker, name, start, ended.exchanges)
        except ChannelClosed:
            self._check_zygote()
            return self._finish(name, start, self._current, None, (limit_fault("crashed", self._limits),))

    def _finish(
        self, name: str, start: bytes, talk: Conversation, value: JsonValue, faults: tuple[Fault, ...]
    ) -> CellResult:
        seconds, kinds = talk.seconds, {fault.kind for fault in faults}
        if FaultKind.LIMIT in kinds:
            self._kill()
            faults = tuple(limit_fault(f.type, self._limits) if f.type == "memory" else f for f in faults)
        elif FaultKind.CHECK not in kinds:
            self._cells.append(FinishedCell(name, start, tuple(talk.exchanges), self._answers.seen))
        return CellResult(talk.output, value, faults, talk.calls, seconds)

    def _kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _rebuild(self) -> Worker:
        """A new worker, in which every finished cell has run again. Raises RebuildDiverged."""
        try:
            return self._rebuilt()
        except ChannelClosed:
            self._check_zygote()
        self._kill()
        try:
            return self._rebuilt()
        except ChannelClosed as error:
            raise RebuildDiverged(str(error)) from error

    def _rebuilt(self) -> Worker:
        self._answers.return_to(self._opened)
        self._worker = worker = self._open_worker()
        for number, cell in enumerate(self._cells, start=1):
            run_again(cell, f"cell {number} ({cell.name})", worker, self._limits)
            self._answers.return_to(cell.seen)
        return worker
