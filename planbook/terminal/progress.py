"""The progress of a run while it is played, with the time left; without a terminal, a plain line now and then."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

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
"""Number of times that the bar is drawn in a second."""
BAR = 30
"""Columns."""


def time_left(elapsed: float, ended: int, left: int) -> float | None:
    """Return the seconds until the rest has ended at the same rate; None before the first has ended."""
    return elapsed / ended * left if ended else None


class Progress:
    """Shows episodes and successes, what was spent, and the time left.

    ``paused`` tells whether the run is paused at the moment. Time in pauses does not count.
    """

    def __init__(self, run: Run, title: str, total: int, endings: Iterable[Ending], paused: Callable[[], bool]) -> None:
        self._run, self._title, self._total, self._paused = run, title, total, paused
        self._endings = list(endings)
        self._before, self._earlier = run.meter.spent.seconds, len(self._endings)

    def ended(self, entry: Entry, ending: Ending) -> None:
        """Count an episode."""
        self._endings.append(ending)

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
        solved, broken = self._counts()
        first = Table.grid(padding=(0, 1))
        first.add_row(
            Text(self._title, no_wrap=True, overflow="ellipsis"),
            ProgressBar(self._total, len(self._endings), width=BAR),
            Text(f"{len(self._endings)}/{self._total}", no_wrap=True),
            Text(solved, style="green", no_wrap=True),
            Text(broken, style="red", no_wrap=True),
        )
        second = Text(no_wrap=True, overflow="ellipsis")
        if self._paused():
            second.append("Paused, continue in planbook watch; ", style="bold yellow")
        second.append("; ".join(self._figures()), style="dim")
        return Group(first, second)

    def line(self) -> str:
        """Return the same in one plain line."""
        counts = ", ".join(filter(None, self._counts()))
        told = f"{self._title}: {len(self._endings)}/{self._total} episodes, {counts}"
        return "; ".join([told, *(["paused"] if self._paused() else []), *self._figures()])

    def _counts(self) -> tuple[str, str]:
        """Return the successes with their share of what has ended, and what broke."""
        outcomes = [ending.outcome for ending in self._endings]
        solved, broken = sum(outcome.solved for outcome in outcomes), outcomes.count(Outcome.BROKEN)
        share = f" ({solved / len(outcomes):.1%})" if outcomes else ""
        return f"{solved} solved{share}", f"{broken} broken" if broken else ""

    def _figures(self) -> Iterator[str]:
        spent, rest = self._run.meter.spent, self._total - len(self._endings)
        if spent.calls:
            yield spending(spent, self._run.meter.budget)
        yield f"{clock(self._elapsed())} elapsed"
        if rest:
            left = time_left(self._elapsed(), len(self._endings) - self._earlier, rest)
            yield f"{'-' if left is None else f'about {clock(left)}'} left"

    def _elapsed(self) -> float:
        """Return the seconds of this invocation."""
        return self._run.meter.spent.seconds - self._before
