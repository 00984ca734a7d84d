"""A share of tasks that were solved, with its interval, as charts draw and tell it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planbook.results.statistics import wilson

NOTHING = "–"


@dataclass(frozen=True)
class Share:
    """So many solved, of so many tasks."""

    solved: int
    tasks: int
    not_run: int = 0

    @property
    def value(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.solved / self.tasks if self.tasks else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, at 95 %."""
        return wilson(self.solved, self.tasks)

    @property
    def told(self) -> str:
        """As a percentage."""
        return NOTHING if self.value is None else f"{self.value:.1%}"

    @property
    def within(self) -> str:
        """The interval in percent; there is none over tasks that are yet to be played."""
        if self.not_run:
            return NOTHING
        low, high = self.interval
        return f"{100 * low:.1f} to {100 * high:.1f}%"

    def __str__(self) -> str:
        return f"{self.solved:,} of {self.tasks:,} solved: {self.told} ({self.within})"


def error_bars(shares: Sequence[Share]) -> dict[str, Any]:
    """The intervals, as the drawing library takes them: how far they reach to either side."""
    sides = [(each.value or 0.0, *each.interval) for each in shares]
    return {
        "type": "data",
        "symmetric": False,
        "array": [round(high - value, 6) for value, _, high in sides],
        "arrayminus": [round(value - low, 6) for value, low, _ in sides],
        "color": "--ink",
        "thickness": 1.5,
        "width": 4,
    }
