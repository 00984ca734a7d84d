"""Running a cell again in another worker: what was answered once is answered likewise, and nothing is done twice."""

from collections.abc import Callable, Sequence
from typing import Any

from sandbox.cell import Conversation, Exchange, FinishedCell
from sandbox.errors import RebuildDiverged
from sandbox.limits import LimitReached, limit_fault
from sandbox.messages import HostileFrame
from sandbox.process import Worker
from sandbox.protocol import ChannelClosed, FrameTooLong
from sandbox.types import Limits

PATIENCE = 2
"""How many times the wall clock and cpu of a cell it may take when it is run again."""


class Said:
    """Answers a cell that is run again as it was answered; what it asks beyond that goes to ``then``."""

    def __init__(self, before: Sequence[Exchange], title: str, then: Callable[[list[Any]], bytes] | None) -> None:
        self._before, self._title, self._then = before, title, then
        self._next = 0

    def answer(self, payload: bytes, message: list[Any]) -> bytes:
        """The answer to a request. Raises RebuildDiverged for one that is another than the first time."""
        if self._next == len(self._before):
            if self._then is None:
                raise RebuildDiverged(f"{self._title}: run again, it made a call more than before: {payload.decode()}")
            return self._then(message)
        expected, recorded = self._before[self._next]
        self._next += 1
        if payload != expected:
            was = expected.decode()
            raise RebuildDiverged(f"{self._title}: call {self._next} was {was}, run again {payload.decode()}")
        return recorded

    def check_over(self) -> None:
        """Raise RebuildDiverged if the cell ended before it had asked everything that it had asked the first time."""
        if self._next < len(self._before):
            expected = self._before[self._next].request.decode()
            raise RebuildDiverged(f"{self._title}: run again, it ended before call {self._next + 1}, {expected}")


def run_again(cell: FinishedCell, title: str, worker: Worker, limits: Limits) -> None:
    """Run a finished cell in a worker: no function is called. Raises RebuildDiverged, ChannelClosed."""
    patient = limits.model_copy(
        update={
            "wall_seconds": limits.wall_seconds * PATIENCE,
            "cpu_seconds": limits.cpu_seconds * PATIENCE,
        }
    )
    said = Said(cell.exchanges, title, None)
    try:
        talk = Conversation(worker, patient, said.answer)
        for start in cell.starts:
            talk.hold(start)
    except LimitReached as reached:
        fault = limit_fault(reached.name, patient)
        raise RebuildDiverged(f"{title}: run again, it did not finish: {fault.message}") from reached
    except (FrameTooLong, HostileFrame) as error:
        raise RebuildDiverged(f"{title}: run again, it ended its worker: {error}") from error
    except ChannelClosed as error:
        raise ChannelClosed(f"{title}: run again, it ended its worker: {error}") from error
    said.check_over()
