"""The progress of a run while it is played, with the time left; without a terminal, a plain line now and then."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from statistics import fmean

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from planbook.console import ERRORS
from planbook.planner import Ending, Outcome
from planbook.runs import Entry, Run
from planbook.terminal.printing import spending
from planbook.wording import clock

EVERY = 30.0
"""Seconds between two plain lines."""
A_SECOND = 4
"""How often the bar is drawn."""
BAR = 30
"""Columns."""
RECENT = 200
"""The last episodes that the estimate is made from: those of one type often come together."""


class Pace:
    """Estimates the time left from the episodes that ended in this invocation and from those under way.

    Times are seconds on one clock, which may stand still in pauses.
    """

    def __init__(self) -> None:
        self._begun: dict[int, float] = {}
        self._lasted: deque[float] = deque(maxlen=RECENT)

    def begin(self, index: int, at: float) -> None:
        """Note that an episode is under way."""
        self._begun.setdefault(index, at)

    def end(self, index: int, at: float) -> bool:
        """Note that an episode has ended; return False for one that was not known to be under way."""
        begun = self._begun.pop(index, None)
        if begun is not None:
            self._lasted.append(at - begun)
        return begun is not None

    def left(self, at: float, waiting: int, at_a_time: int) -> float | None:
        """Return the seconds until all have ended, with so many that wait; None before the first has ended."""
        if not self._lasted:
            return None
        usual = fmean(self._lasted)
        under_way = [self._rest(at - begun, usual) for begun in self._begun.values()]
        shared = (sum(under_way) + waiting * usual) / at_a_time
        return max(shared, *under_way, 0.0)

    def _rest(self, age: float, usual: float) -> float:
        """Return the mean rest of those that lasted longer at that age; if none did, the usual time again."""
        longer = [lasted - age for lasted in self._lasted if lasted > age]
        return fmean(longer) if longer else usual


class InTurn:
    """The pace of episodes that begin in order, so many at a time: when one ends, the next begins."""

    def __init__(self, episodes: Iterable[int], at_a_time: int) -> None:
        self._waiting, self._at_a_time, self._pace = deque(episodes), at_a_time, Pace()
        for _ in range(at_a_time):
            self._begin_next(0.0)

    def ended(self, index: int, at: float) -> None:
        """Note an ending."""
        if self._pace.end(index, at):
            self._begin_next(at)

    def left(self, at: float) -> float | None:
        """Return the seconds until the end; None before the first episode has ended."""
        return self._pace.left(at, len(self._waiting), self._at_a_time)

    def _begin_next(self, at: float) -> None:
        if self._waiting:
            self._pace.begin(self._waiting.popleft(), at)


class Standing:
    """Counts of a run's episodes that have ended, by outcome."""

    def __init__(self, total: int, endings: Iterable[Ending]) -> None:
        self.total, self.ended, self.solved, self.broken = total, 0, 0, 0
        for ending in endings:
            self.count(ending)

    def count(self, ending: Ending) -> None:
        """Count one more ending."""
        self.ended += 1
        self.solved += ending.outcome.solved
        self.broken += ending.outcome is Outcome.BROKEN

    @property
    def told_solved(self) -> str:
        """The successes, with their share of what has ended."""
        return f"{self.solved} solved" + (f" ({self.solved / self.ended:.1%})" if self.ended else "")


class Progress:
    """Shows episodes and successes, what was spent, and the time left.

    ``paused`` tells whether the run is paused at the moment. Time in pauses does not count.
    """

    def __init__(self, run: Run, title: str, standing: Standing, pace: InTurn, paused: Callable[[], bool]) -> None:
        self._run, self._title, self._standing, self._pace = run, title, standing, pace
        self._paused, self._before = paused, run.meter.spent.seconds

    def ended(self, entry: Entry, ending: Ending) -> None:
        """Count an episode."""
        self._standing.count(ending)
        self._pace.ended(entry.index, self._elapsed())

    @contextmanager
    def shown(self, out: Console = ERRORS, every: float = EVERY) -> Iterator[None]:
        """Show it until the block ends."""
        if out.is_terminal:
            with Live(get_renderable=self.bar, console=out, refresh_per_second=A_SECOND):
                yield
            return
        over = threading.Event()
        thread = threading.Thread(target=self._tell, args=(out, every, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _tell(self, out: Console, every: float, over: threading.Event) -> None:
        told = False
        while not over.wait(every):
            out.print(self.line(), soft_wrap=True)
            told = True
        if told:
            out.print(self.line(), soft_wrap=True)

    def bar(self) -> RenderableType:
        """Return two lines with a bar."""
        standing = self._standing
        first = Table.grid(padding=(0, 1))
        first.add_row(
            Text(self._title, no_wrap=True, overflow="ellipsis"),
            ProgressBar(standing.total, standing.ended, width=BAR),
            Text(f"{standing.ended}/{standing.total}", no_wrap=True),
            Text(standing.told_solved, style="green", no_wrap=True),
            Text(f"{standing.broken} broken" if standing.broken else "", style="red", no_wrap=True),
        )
        second = Text(no_wrap=True, overflow="ellipsis")
        if self._paused():
            second.append("Paused, go on in planbook watch; ", style="bold yellow")
        second.append("; ".join(self._figures()), style="dim")
        return Group(first, second)

    def line(self) -> str:
        """Return the same in one plain line."""
        standing = self._standing
        broken = f", {standing.broken} broken" if standing.broken else ""
        told = f"{self._title}: {standing.ended}/{standing.total} episodes, {standing.told_solved}{broken}"
        return "; ".join([told, *(["paused"] if self._paused() else []), *self._figures()])

    def _figures(self) -> Iterator[str]:
        spent = self._run.meter.spent
        if spent.calls:
            yield spending(spent, self._run.meter.budget)
        yield f"{clock(self._elapsed())} elapsed"
        if self._standing.ended < self._standing.total:
            left = self._pace.left(self._elapsed())
            yield f"{'-' if left is None else f'about {clock(left)}'} left"

    def _elapsed(self) -> float:
        """Return the seconds of this invocation."""
        return self._run.meter.spent.seconds - self._before
