"""What the same tasks cost in two runs: for each one solved, with tasks drawn again for the intervals."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from planbook.figures.comparison.gathering import Pair, Played
from planbook.figures.comparison.resampling import Columns, Estimate, drawn_totals, estimate, ratio
from planbook.planner import Spent

TIME = "seconds"
COSTS: Mapping[str, Callable[[Spent], float | None]] = {
    "model calls": lambda spent: spent.calls,
    "tokens": lambda spent: spent.tokens,
    "US dollars": lambda spent: spent.money,
    "actions": lambda spent: spent.actions,
    TIME: lambda spent: spent.seconds,
}
"""What is counted, by the name that it is told under."""
UNKNOWN = Estimate(None, None, None)


class Cost(BaseModel):
    """A cost for each task solved: of the first run, of the second, and second minus first, over the same tasks.

    What was spent on tasks that were not solved is in it, too. None where nothing was solved, or a price is unknown.
    Seconds have no bounds: drawing tasks again does not show how the clock varies from run to run on a busy machine.
    """

    model_config = ConfigDict(frozen=True)

    first: Estimate
    second: Estimate
    difference: Estimate

    def without_bounds(self) -> "Cost":
        """Return the figures alone."""
        first, second, difference = (
            Estimate(each.value, None, None) for each in (self.first, self.second, self.difference)
        )
        return Cost(first=first, second=second, difference=difference)


def costs(pairs: Sequence[Pair]) -> dict[str, Cost]:
    """By what is counted; nothing of what neither run spent."""
    names = [name for name, of in COSTS.items() if any(of(side.spent) != 0 for pair in pairs for side in pair)]
    found = {name: _cost(_by_task(pairs, COSTS[name])) for name in names}
    return {name: cost.without_bounds() if name == TIME else cost for name, cost in found.items()}


def extra_actions(pairs: Sequence[Pair]) -> Estimate:
    """How many more actions the second run took, a mean over pairs that both solved; unknown for none."""
    if not pairs:
        return UNKNOWN
    (found,) = _told(_by_task(pairs, COSTS["actions"]), lambda sums: [ratio(sums[:, 2] - sums[:, 0], sums[:, 4])])
    return found


def _cost(tasks: Columns) -> Cost:
    def figures(sums: Columns) -> Sequence[Columns]:
        first, second = ratio(sums[:, 0], sums[:, 1]), ratio(sums[:, 2], sums[:, 3])
        return first, second, second - first

    first, second, difference = _told(tasks, figures)
    return Cost(first=first, second=second, difference=difference)


def _told(tasks: Columns, figures: Callable[[Columns], Sequence[Columns]]) -> Sequence[Estimate]:
    """Figures of the tasks' sums, and what they are when the tasks are drawn again."""
    with np.errstate(invalid="ignore"):
        values, drawn = figures(tasks.sum(axis=0, keepdims=True)), figures(drawn_totals(tasks))
    return [estimate(float(value[0]), draws) for value, draws in zip(values, drawn, strict=True)]


def _by_task(pairs: Sequence[Pair], of: Callable[[Spent], float | None]) -> Columns:
    """A row for each task: spent and solved by the first run, the same by the second, and how many pairs it has."""
    rows: dict[tuple[str, int], list[float]] = {}
    for one, other in pairs:
        task = one.entry.task
        row = rows.setdefault((task.id, task.seed), [0.0] * 5)
        for place, value in enumerate((*_sums(one, of), *_sums(other, of), 1.0)):
            row[place] += value
    return np.array(list(rows.values()))


def _sums(played: Played, of: Callable[[Spent], float | None]) -> tuple[float, float]:
    spent = of(played.spent)
    return float("nan") if spent is None else spent, float(played.ending.outcome.solved)
