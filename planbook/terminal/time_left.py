"""How far a run is, and when the rest of it will have been played."""

from collections import deque
from collections.abc import Iterable
from statistics import fmean

from planbook.planner import Ending, Outcome

RECENT = 200
"""So many of the last episodes say how long the next ones take: those of one type often come together."""


class Pace:
    """Guesses the time left from the episodes that ended in this sitting and from those under way.

    Times are seconds on one clock, which may stand still in pauses.
    """

    def __init__(self) -> None:
        self._begun: dict[int, float] = {}
        self._lasted: deque[float] = deque(maxlen=RECENT)

    def begin(self, index: int, at: float) -> None:
        """An episode is under way from now on, if it was not already."""
        self._begun.setdefault(index, at)

    def end(self, index: int, at: float) -> bool:
        """An episode is over; False for one that was not known to be under way."""
        begun = self._begun.pop(index, None)
        if begun is not None:
            self._lasted.append(at - begun)
        return begun is not None

    def left(self, at: float, waiting: int, at_a_time: int) -> float | None:
        """Seconds until all have ended, with so many that have not begun; None before the first has ended."""
        if not self._lasted:
            return None
        usual = fmean(self._lasted)
        under_way = [self._rest(at - begun, usual) for begun in self._begun.values()]
        shared = (sum(under_way) + waiting * usual) / at_a_time
        return max(shared, *under_way, 0.0)

    def _rest(self, age: float, usual: float) -> float:
        """As long as the ones that lasted longer still took at that age; where none did, as long as usual again."""
        longer = [lasted - age for lasted in self._lasted if lasted > age]
        return fmean(longer) if longer else usual


class InTurn:
    """The pace of episodes that are begun in order, so many at a time: when one ends, the next begins."""

    def __init__(self, episodes: Iterable[int], at_a_time: int) -> None:
        self._waiting, self._at_a_time, self._pace = deque(episodes), at_a_time, Pace()
        for _ in range(at_a_time):
            self._begin_next(0.0)

    def ended(self, index: int, at: float) -> None:
        """Tell of an ending."""
        if self._pace.end(index, at):
            self._begin_next(at)

    def left(self, at: float) -> float | None:
        """Seconds until the end; None before the first episode has ended."""
        return self._pace.left(at, len(self._waiting), self._at_a_time)

    def _begin_next(self, at: float) -> None:
        if self._waiting:
            self._pace.begin(self._waiting.popleft(), at)


class Standing:
    """How many of a run's episodes have ended, and how."""

    def __init__(self, total: int, endings: Iterable[Ending]) -> None:
        self.total, self.ended, self.solved, self.broken = total, 0, 0, 0
        for ending in endings:
            self.count(ending)

    def count(self, ending: Ending) -> None:
        """One more."""
        self.ended += 1
        self.solved += ending.outcome.solved
        self.broken += ending.outcome is Outcome.BROKEN

    @property
    def told_solved(self) -> str:
        """The successes, with their share of what has ended."""
        return f"{self.solved} solved" + (f" ({self.solved / self.ended:.1%})" if self.ended else "")
