"""What the same tasks cost in two runs: for each one solved, with intervals over tasks."""

from collections.abc import Callable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from planbook.compare.difference import by_task
from planbook.compare.gathering import Pair, Played
from planbook.compare.ratios import UNKNOWN, Estimate, Parts, difference, ratio
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
    found = {name: _cost(pairs, COSTS[name]) for name in names}
    return {name: cost.without_bounds() if name == TIME else cost for name, cost in found.items()}


def extra_actions(pairs: Sequence[Pair]) -> Estimate:
    """How many more actions the second run took, a mean over pairs that both solved; unknown for none."""

    def extra(pair: Pair) -> tuple[float, float]:
        return pair[1].spent.actions - pair[0].spent.actions, 1.0

    return ratio(_by_task(pairs, extra)) if pairs else UNKNOWN


def _cost(pairs: Sequence[Pair], of: Callable[[Spent], float | None]) -> Cost:
    def part(played: Played) -> tuple[float, float]:
        spent = of(played.spent)
        return float("nan") if spent is None else spent, float(played.ending.outcome.solved)

    first, second = _by_task(pairs, lambda pair: part(pair[0])), _by_task(pairs, lambda pair: part(pair[1]))
    return Cost(first=ratio(first), second=ratio(second), difference=difference(first, second))


def _by_task(pairs: Sequence[Pair], part: Callable[[Pair], tuple[float, float]]) -> Parts:
    """Return what is above and below the line of each task, summed over its pairs."""
    parts = [[part(pair) for pair in each] for each in by_task(pairs).values()]
    return [(sum(above for above, _ in each), sum(below for _, below in each)) for each in parts]
