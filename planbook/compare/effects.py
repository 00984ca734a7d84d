"""What single rules and skills are worth: runs without each of them, held against all other runs of the same tasks."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from planbook.compare.differences import Compared
from planbook.planner import Grid
from planbook.results import RunResults
from planbook.results.statistics import benjamini_hochberg, paired_difference, paired_t, success_tails
from planbook.wording import NO_FIGURE, UNPLAYED, counted

FALSE_SHARE = 0.1
"""Of the effects that are told apart from noise, how many may be noise (the false discovery rate)."""
EVERYTHING = ""
"""Stands for the run with all rules and skills."""
Solved = Mapping[tuple[str, int, int], bool]
"""By task id, seed and repeat."""


class PartEffect(Compared):
    """What leaving out a rule or a skill changes, as a share of all tasks; below 0, fewer are solved without it.

    ``affected`` counts the tasks whose planner was told something else without it; no others were played. ``expected``
    of these are solved in the other runs, on average, and ``solved`` without it.
    """

    part: str
    tasks: int
    affected: int
    expected: float
    solved: int
    difference: float
    low: float
    high: float
    p: float
    p_corrected: float
    """After Benjamini and Hochberg, over all parts that were left out."""

    @property
    def is_told_apart(self) -> bool:
        """True if it is more than noise would give."""
        return self.p_corrected < FALSE_SHARE


def part_effects(everything: RunResults, without: Mapping[str, RunResults | None]) -> tuple[PartEffect, ...]:
    """Return the effect of each part; None for a part that no task's planner is told.

    A run without one part has all the others. So the chance that a task is solved with a part is known from all runs
    but the one without it, and the number solved without it is held against these chances. Runs that turn out to have
    solved fewer than noise would give are no measure for the others, and are left out of them.
    """
    runs = {EVERYTHING: everything, **{part: run for part, run in without.items() if run}}
    solved = {name: _solved(run) for name, run in runs.items()}
    pool = dict(solved)
    while True:
        found = _corrected([_effect(part, solved, pool) for part in without])
        lost = {each.part for each in found if each.part in pool and each.is_told_apart and each.difference < 0}
        if not lost:
            return found
        pool = {name: run for name, run in pool.items() if name not in lost}


def _corrected(effects: Sequence[PartEffect]) -> tuple[PartEffect, ...]:
    corrected = benjamini_hochberg([each.p for each in effects])
    return tuple(each.model_copy(update={"p_corrected": p}) for each, p in zip(effects, corrected, strict=True))


def _solved(run: RunResults) -> Solved:
    played = (row for row in run.counted if row.outcome not in UNPLAYED)
    return {(row.task.id, row.task.seed, row.repeat): row.solved for row in played}


def _effect(part: str, solved: Mapping[str, Solved], pool: Mapping[str, Solved]) -> PartEffect:
    own = solved.get(part, {})
    others = {key: [run[key] for name, run in pool.items() if name != part and key in run] for key in own}
    own = {key: each for key, each in own.items() if others[key]}
    tasks = max(len(solved[EVERYTHING]), len(own))
    chances = [(sum(others[key]) + 0.5) / (len(others[key]) + 1) for key in own]
    fewer, more = success_tails(chances, sum(own.values()))
    changes = [each - fmean(others[key]) for key, each in own.items()]
    low, high = _interval(own, solved[EVERYTHING], [*changes, *([0.0] * (tasks - len(own)))])
    p = min(1.0, 2 * min(fewer, more)) if own else 1.0
    return PartEffect(
        part=part,
        tasks=tasks,
        affected=len(own),
        expected=sum(fmean(others[key]) for key in own),
        solved=sum(own.values()),
        difference=sum(changes) / tasks if tasks else 0.0,
        low=low,
        high=high,
        p=p,
        p_corrected=p,
    )


def _interval(own: Solved, everything: Solved, changes: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean change; where nothing varies, that of the pairs with and without it."""
    if len(changes) > 1:
        low, high, _ = paired_t(changes)
        if low is not None and high is not None and low < high:
            return max(-1.0, low), min(1.0, high)
    pairs = [(everything[key], each) for key, each in own.items() if key in everything]
    return paired_difference(pairs.count((False, True)), pairs.count((True, False)), len(changes))


def effect_parts(effects: Sequence[PartEffect]) -> Iterator[Grid | str]:
    """Give the effects, the largest first, and which of them are more than noise."""
    columns = ("tasks affected", "solved with it", "without", "without - with", "95 % interval", "p")
    ordered = sorted(effects, key=lambda each: (each.difference, each.p))
    title = "What leaving out each rule and skill changes, in points of all tasks"
    yield Grid(title, "left out", columns, [(each.part, *_cells(each)) for each in ordered])
    apart = [each for each in ordered if each.is_told_apart]
    needed = [each.part for each in apart if each.difference < 0]
    harmful = [each.part for each in apart if each.difference > 0]
    unused = [each.part for each in ordered if not each.affected]
    yield f"Needed: {', '.join(needed) or 'none for which it can be told'}."
    if harmful:
        yield f"In the way: {', '.join(harmful)}."
    if unused:
        yield f"Told in none of the tasks, and not left out: {', '.join(unused)}."
    yield (
        "p: the number solved without it, held against the chances of its tasks in all other runs; corrected after "
        f"Benjamini and Hochberg over {counted(len(effects), 'part')}. Of what is told apart from noise, at most "
        f"{FALSE_SHARE:.0%} may be noise."
    )


def _cells(effect: PartEffect) -> Iterator[str]:
    yield f"{effect.affected} of {effect.tasks}"
    if not effect.affected:
        yield from (NO_FIGURE for _ in range(5))
        return
    yield from (f"{effect.expected:.1f}", str(effect.solved), f"{100 * effect.difference:+.1f}")
    yield f"{100 * effect.low:.1f} to {100 * effect.high:.1f}"
    yield f"{effect.p_corrected:.2g}"
