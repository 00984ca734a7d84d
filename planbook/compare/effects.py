"""Estimate the effect of each rule and skill, which are called parts of the knowledge here.

For each part, there is a run without it. The size of the effect comes from a comparison with the run that has all
parts. The p value also comes from the other runs, since they have the part, too.
"""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel

from planbook.compare.differences import format_points
from planbook.planner import Grid
from planbook.results import RunResults
from planbook.results.statistics import benjamini_hochberg, paired_t, permutation_tails, unvaried_difference
from planbook.wording import NO_FIGURE, counted

FALSE_DISCOVERY_RATE = 0.05
"""The maximum expected share of false positives among the effects that are reported as significant."""
EXCLUSION_P = 0.05
"""A run is not used to judge other parts if it solved so few tasks that its one-sided p value is below this."""
EVERYTHING = ""
"""The key of the run with all parts. The key of any other run is the name of the part that it lacks."""
SuccessByTask = Mapping[tuple[str, int], Mapping[int, bool]]
"""Maps each task (its id and seed) to a dict from each repeat to True if it was solved."""


class PartEffect(BaseModel):
    """The effect of leaving out a part: a rule or a skill.

    ``difference`` is the change in the share of solved tasks, over all tasks: negative if fewer are solved without the
    part. Its interval is from ``low`` to ``high``. ``affected`` is the number of played tasks that use the part. In the
    episodes of these tasks, the run with all parts has ``expected`` successes, and the run without the part has
    ``solved`` successes. ``p`` is a two-sided p value; it is 1 if ``difference`` is 0.
    """

    part: str
    tasks: int
    affected: int
    expected: int
    solved: int
    difference: float
    low: float
    high: float
    p: float
    p_corrected: float
    """The p value, corrected by the Benjamini-Hochberg method over all parts that affect at least one task."""

    @property
    def is_significant(self) -> bool:
        """True if noise alone would rarely produce so large an effect."""
        return self.p_corrected < FALSE_DISCOVERY_RATE


class _PartComparison:
    """Compares the run without a part, task by task, with the run that has all parts and with the other runs of a pool.

    ``counts`` holds, for each task, the numbers of successes: in the run without the part, in the run with all parts,
    and in the other runs. ``changes`` holds, for each task, the first number minus the second, as a share of the
    repeats.
    """

    def __init__(self, part: str, solved: Mapping[str, SuccessByTask], pool: Sequence[str]) -> None:
        self.counts: list[tuple[int, ...]] = []
        self.changes: list[float] = []
        for task, repeats in solved.get(part, {}).items():
            if repeats.keys() <= solved[EVERYTHING].get(task, {}).keys():
                runs = [repeats, *(solved[name].get(task, {}) for name in pool if name != part)]
                counts = [sum(run[repeat] for repeat in repeats) for run in runs if repeats.keys() <= run.keys()]
                self.counts.append(tuple(counts))
                self.changes.append((counts[0] - counts[1]) / len(repeats))

    @property
    def tails(self) -> tuple[float, float]:
        """One-sided p values: the chances of at most, and at least, this many successes if the part has no effect."""
        return permutation_tails(self.counts)


def part_effects(everything: RunResults, runs_without: Mapping[str, RunResults | None]) -> tuple[PartEffect, ...]:
    """Return the effect of each part.

    ``everything`` is the run with all parts. ``runs_without`` maps each part to the run without it, or to None if no
    task uses the part.

    The size of an effect is the difference between two runs, so that no other part changes it. The p value comes from
    more runs, to find smaller effects. Each run lacks at most one part, so all runs but the one without a given part
    show how often a task is solved with this part. The test swaps the runs within each task: if the part had no effect,
    any of the runs could be the one without it.

    A run that lacks an important part solves fewer tasks, and would hide the effects of other parts. Such runs (see
    ``EXCLUSION_P``) are not used to judge other parts. They are removed one by one, the worst first.
    """
    runs = {EVERYTHING: everything, **{part: run for part, run in runs_without.items() if run}}
    solved = {name: _success_by_task(run) for name, run in runs.items()}
    pool = list(solved)
    while p_fewer := {part: _PartComparison(part, solved, pool).tails[0] for part in pool if part != EVERYTHING}:
        worst = min(p_fewer, key=lambda part: p_fewer[part])
        if p_fewer[worst] >= EXCLUSION_P:
            break
        pool.remove(worst)
    tasks = len(solved[EVERYTHING])
    effects = {part: _effect(part, _PartComparison(part, solved, pool), tasks) for part in runs_without}
    tested = [part for part, effect in effects.items() if effect.affected]
    p_corrected = dict(zip(tested, benjamini_hochberg([effects[part].p for part in tested]), strict=True))
    return tuple(row.model_copy(update={"p_corrected": p_corrected.get(part, 1.0)}) for part, row in effects.items())


def _success_by_task(run: RunResults) -> SuccessByTask:
    solved: dict[tuple[str, int], dict[int, bool]] = {}
    for row in run.counted_rows:
        if row.outcome.played:
            solved.setdefault((row.task.id, row.task.seed), {})[row.repeat] = row.solved
    return solved


def _effect(part: str, comparison: _PartComparison, tasks: int) -> PartEffect:
    low, high = _interval([*comparison.changes, *([0.0] * (tasks - len(comparison.changes)))])
    p_fewer, p_more = comparison.tails
    difference = sum(comparison.changes) / tasks if tasks else 0.0
    p = min(1.0, 2 * (p_fewer if difference < 0 else p_more if difference > 0 else 1.0))
    return PartEffect(
        part=part,
        tasks=tasks,
        affected=len(comparison.counts),
        expected=sum(counts[1] for counts in comparison.counts),
        solved=sum(counts[0] for counts in comparison.counts),
        difference=difference,
        low=low,
        high=high,
        p=p,
        p_corrected=p,
    )


def _interval(changes: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean change over tasks.

    It comes from a t test or, if the change is the same for all tasks, from the method for two paired shares.
    """
    low, high, _ = paired_t(changes) if len(changes) > 1 else (None, None, None)
    if low is not None and high is not None and low < high:
        return max(-1.0, low), min(1.0, high)
    return unvaried_difference(changes)


def effect_parts(effects: Sequence[PartEffect]) -> Iterator[Grid | str]:
    """Yield a table of the effects, the most useful part first, then sentences about the significant effects."""
    columns = ("tasks affected", "solved with it", "without", "without - with", "95 % interval", "p")
    ordered = sorted(effects, key=lambda effect: (effect.difference, effect.p))
    title = "Effect of leaving out each rule and skill, in percentage points over all tasks"
    yield Grid(title, "left out", columns, [(effect.part, *_cells(effect)) for effect in ordered])
    significant = [effect for effect in ordered if effect.is_significant]
    needed = [effect.part for effect in significant if effect.difference < 0]
    harmful = [effect.part for effect in significant if effect.difference > 0]
    unused = [effect.part for effect in ordered if not effect.affected]
    yield f"Significantly fewer tasks are solved without: {', '.join(needed) or 'no single part'}."
    if harmful:
        yield f"Significantly more tasks are solved without: {', '.join(harmful)}."
    if unused:
        yield f"Not measured, because no played task used them: {', '.join(unused)}."
    yield (
        "The column 'solved with it' counts the run with all parts. p comes from an exact test that also uses the "
        "other runs (except those that did clearly worse), corrected by the Benjamini-Hochberg method over "
        f"{counted(len(effects) - len(unused), 'part')}. Of the parts named as significant, at most "
        f"{FALSE_DISCOVERY_RATE:.0%} are expected to be false positives. Intervals show the size of an effect; they "
        "are not corrected, and may disagree with p."
    )


def _cells(effect: PartEffect) -> Iterator[str]:
    yield f"{effect.affected} of {effect.tasks}"
    if not effect.affected:
        yield from (NO_FIGURE for _ in range(5))
        return
    yield from (str(effect.expected), str(effect.solved))
    yield from format_points(effect.difference, effect.low, effect.high)
    yield f"{effect.p_corrected:.2g}"
