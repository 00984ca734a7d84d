"""Running a cell again in another worker: what was answered once is answered likewise, and nothing is done twice.

What the cell asks, prints and comes to is held against the first time, so that no other session takes the place of one
that was lost without a word. Nearly all that a plan can see is the same in every worker: random numbers, time, the
order of sets of strings. What hangs on where an object lies in memory need not be: ``id``, and the order of a set of
objects that have no hash of their own.
"""

from collections.abc import Callable, Sequence
from typing import Any

from planbook.sandbox.cell import Conversation, End, Exchange, FinishedCell, Request
from planbook.sandbox.errors import RebuildDiverged
from planbook.sandbox.limits import MAX_KEPT, LimitReached, limit_fault
from planbook.sandbox.messages import HostileFrame
from planbook.sandbox.process import Worker
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong
from planbook.sandbox.types import Limits

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
