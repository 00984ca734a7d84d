"""What stands below everything else while a run is played; where nobody sees it, a plain line now and then."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from planbook.console import ERRORS
from planbook.planner import Ending
from planbook.run import Entry, Run
from planbook.terminal.printing import spending
from planbook.terminal.time_left import InTurn, Standing
from planbook.wording import clock

EVERY = 30.0
"""Seconds between two plain lines."""
A_SECOND = 4
"""How often the bar is drawn."""
BAR = 30
"""Columns."""


class Progress:
    """Episodes and successes, what was spent, and the time left.

    ``paused`` is asked each time whether nothing goes on at the moment. Time that the run was paused does not count.
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
        """Keep it before the reader's eyes."""
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
        """Two lines."""
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
        """The same in one plain line."""
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
        """Seconds of this sitting."""
        return self._run.meter.spent.seconds - self._before
