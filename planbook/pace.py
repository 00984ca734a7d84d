"""How far a run is, and when the rest of it will have been played."""

from collections import deque
from collections.abc import Iterable
from statistics import fmean

from planner import Ending, Outcome

RECENT = 200
"""So many of the last episodes say how long the next ones take: those of one type often come together."""


class Pace:
    """Guesses the time left from the episodes that ended in this sitting and from those under way.

    They are begun in order, so many at a time. Times are seconds on one clock, which may stand still in pauses.
    """

    def __init__(self, episodes: Iterable[int], at_a_time: int) -> None:
        self._waiting, self._at_a_time = deque(episodes), at_a_time
        self._begun: dict[int, float] = {}
        self._lasted: deque[float] = deque(maxlen=RECENT)
        for _ in range(at_a_time):
            self._begin(0.0)

    def ended(self, index: int, at: float) -> None:
        """Tell of an ending; the next episode begins in its place. One that is not known to be under way is ignored."""
        begun = self._begun.pop(index, None)
        if begun is not None:
            self._lasted.append(at - begun)
            self._begin(at)

    def left(self, at: float) -> float | None:
        """Seconds until the end; None before the first episode has ended."""
        if not self._lasted:
            return None
        usual = fmean(self._lasted)
        under_way = [self._rest(at - begun, usual) for begun in self._begun.values()]
        shared = (sum(under_way) + len(self._waiting) * usual) / self._at_a_time
        return max(shared, *under_way, 0.0)

    def _rest(self, age: float, usual: float) -> float:
        """As long as the ones that lasted longer still took at that age; where none did, as long as usual again."""
        longer = [lasted - age for lasted in self._lasted if lasted > age]
        return fmean(longer) if longer else usual

    def _begin(self, at: float) -> None:
        if self._waiting:
            self._begun[self._waiting.popleft()] = at


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
