"""What a reader of a comparison must know before believing it."""

from collections.abc import Iterable, Sequence

from planbook.compare.gathering import Gathered, Pair, Played
from planbook.results import plain
from planbook.wording import counted


def warnings(first: Gathered, second: Gathered, pairs: Sequence[Pair]) -> Iterable[str]:
    """In words, one thing each."""
    if first.config.seed != second.config.seed:
        yield (
            f"The runs have other seeds (--seed {first.config.seed} and {second.config.seed}): tasks are paired by "
            "their own seeds, but plans had other random numbers, and so had the models that take a seed."
        )
    if other := [one for one, two in pairs if (one.entry.task.goal, one.entry.task.params) != _asked(two)]:
        yield (
            f"{len(other)} of {len(pairs)} pairs have the same task id and seed and ask for something else, the first "
            f"of them {other[0].name}: the world is not the same."
        )
    for run in (first, second):
        if run.builds:
            yield (
                f"{run.folder} is a building run: its later tasks were played with what was learnt from the earlier "
                "ones, so that they are not independent."
            )
        yield from _costs_elsewhere(run)
        if run.faults:
            yield f"{run.folder} contradicts itself: {run.faults[0]}" + _more(len(run.faults) - 1)


def _costs_elsewhere(run: Gathered) -> Iterable[str]:
    """What the costs of the pairs leave out of a run, and what they hold that it did not pay."""
    spent = run.outside
    if spent.calls or spent.actions:
        yield (
            f"{run.folder} also spent outside its episodes, in no figure of the pairs: {counted(spent.calls, 'call')}, "
            f"{counted(spent.tokens, 'token')}, {counted(spent.actions, 'action')}, {_dollars(spent.money)}."
        )
    if run.config.copies:
        yield f"{run.folder} copied its episodes: what is told of their cost was paid by the runs they come from."


def _dollars(money: float | None) -> str:
    return "dollars unknown" if money is None else f"${plain(money, 3)}"


def _asked(played: Played) -> tuple[str, object]:
    return played.entry.task.goal, played.entry.task.params


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""
