"""What a reader of a comparison must know before believing it."""

from collections.abc import Iterable, Sequence

from planbook.figures.comparison.gathering import Gathered, Pair, Played


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
        if run.faults:
            yield f"{run.folder} contradicts itself: {run.faults[0]}" + _more(len(run.faults) - 1)


def _asked(played: Played) -> tuple[str, object]:
    return played.entry.task.goal, played.entry.task.params


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""
