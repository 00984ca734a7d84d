"""Compare two runs over pairs of episodes: the same task, with the same seed and repeat, in both runs.

The comparison is made from the tables of results of the runs, and shown as tables and sentences.

- ``settings`` finds the settings, inputs and versions in which runs differ.
- ``differences`` computes the differences between two runs in success, measures and costs, and tests them.
- ``groups`` makes a table with a row for each run, or for each group of runs.
- ``reruns`` compares a run with a run that repeats it, event by event.
- ``effects`` estimates the effect of each rule and skill from runs without it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Literal

from pydantic import BaseModel

from planbook.compare.differences import (
    MCNEMAR,
    NOISE,
    CostDifference,
    MeasureDifference,
    Pair,
    SolvedDifference,
    cost_differences,
    gain,
    measure_differences,
    points,
    solved_difference,
    with_corrected_p,
)
from planbook.compare.settings import (
    KNOWLEDGE,
    SEEDS,
    SELECTED,
    SettingDifference,
    abridged,
    differing_settings,
    have_same_inputs,
    settings_without,
)
from planbook.errors import BadArgument
from planbook.planner import Grid, Outcome
from planbook.results import RunResults
from planbook.results.learning_cost import LearningPayoff, payoff_table
from planbook.results.rows import Result
from planbook.results.statistics import Estimate
from planbook.results.summary import solved_interval
from planbook.wording import NO_FIGURE, counted, format_number, in_words, listed


class Side(BaseModel):
    """One of the two runs. Only its episodes in the pairs are counted."""

    run: str
    solved: int
    low: float | None
    high: float | None
    """The 95 % interval of the share of episodes that the run solved, or None if some broke or were not run."""
    broken: int
    not_run: int
    """Numbers of episodes that broke or were not run. They count as not solved."""
    paying: LearningPayoff | None = None
    """The cost of a solved task, without and with learning, or None if the cost of learning is not known."""


class ChangedPair(BaseModel):
    """A pair of episodes of which only one was solved. ``cause`` tells why the other one was not."""

    task: str
    repeat: int
    type: str
    change: Literal["gained", "lost"]
    cause: str
    unplayed: bool
    """True if the unsolved episode broke or was not run. Then the pair says nothing about the planning method."""


class RunComparison(BaseModel):
    """The comparison of two runs.

    ``only_first`` and ``only_second`` name the episodes that only one run has. These are excluded from all figures.
    """

    first: Side
    second: Side
    settings: tuple[SettingDifference, ...]
    """The settings, inputs and versions that differ between the runs."""
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    left_out: tuple[int, int]
    """For each run, the number of tasks that `planbook build` skipped: their type had been solved often enough."""
    overall: SolvedDifference
    """The difference over all pairs."""
    played: SolvedDifference | None
    """The difference over the pairs that both runs played. None if these are all pairs, or if there are none."""
    by_type: dict[str, SolvedDifference]
    measures: dict[str, MeasureDifference]
    """Maps each measure of the environment to its difference over the pairs that both runs played."""
    changed: tuple[ChangedPair, ...]
    costs: dict[str, CostDifference]
    """Maps each kind of cost, such as tokens, to its amount per solved task."""
    warnings: tuple[str, ...]


def compare(first: RunResults, second: RunResults) -> RunComparison:
    """Compare two runs over the tasks that both have.

    Raises BadArgument if they have no task in common, or if one run has two episodes with the same task and repeat.
    """
    _check_environments(first, second)
    first_rows, second_rows = _by_key(first), _by_key(second)
    pairs = [(row, second_rows[key]) for key, row in first_rows.items() if key in second_rows]
    if not pairs:
        raise BadArgument(
            f"{first.name} ({_describe(first)}) and {second.name} ({_describe(second)}) have no task in common; "
            "play the same tasks and seeds in both"
        )
    both_played = [pair for pair in pairs if all(side.outcome.played for side in pair)]
    overall = solved_difference(pairs)
    sides = _side(first, [row for row, _ in pairs]), _side(second, [row for _, row in pairs])
    # the settings that select tasks may differ, because only tasks that both runs have are compared
    distinct = settings_without((first, second), (*SEEDS, *KNOWLEDGE, *SELECTED))
    same_settings = len(distinct) == 1 and have_same_inputs((first, second))
    return RunComparison(
        first=_with_break_even(*sides) if same_settings and not first.is_building_run else sides[0],
        second=_with_break_even(*reversed(sides)) if same_settings and not second.is_building_run else sides[1],
        settings=differing_settings(first, second),
        only_first=tuple(row.name for key, row in first_rows.items() if key not in second_rows),
        only_second=tuple(row.name for key, row in second_rows.items() if key not in first_rows),
        left_out=(first.skipped, second.skipped),
        overall=overall,
        played=solved_difference(both_played) if 0 < len(both_played) < len(pairs) else None,
        by_type=_by_type(pairs),
        measures=measure_differences(both_played),
        changed=tuple(_changed(pairs)),
        costs=cost_differences(pairs),
        warnings=tuple(warnings(first, second)),
    )


def compare_all(runs: Sequence[RunResults]) -> tuple[RunComparison, ...]:
    """Compare the first run with each of the others. Raises BadArgument in the same cases as ``compare``."""
    return with_corrections([compare(runs[0], other) for other in runs[1:]])


def with_corrections(comparisons: Sequence[RunComparison]) -> tuple[RunComparison, ...]:
    """Return comparisons of one run with several others, with p values corrected for the number of comparisons.

    The p values of whole runs and of measures are corrected over all comparisons. Those of task types stay as they are:
    ``compare`` has corrected them over the types of one comparison.
    """
    overall = with_corrected_p({c.second.run: c.overall for c in comparisons})
    played = with_corrected_p({c.second.run: c.played or c.overall for c in comparisons})
    measures = with_corrected_p({(n, name): row for n, c in enumerate(comparisons) for name, row in c.measures.items()})
    return tuple(
        comparison.model_copy(
            update={
                "overall": overall[comparison.second.run],
                "played": played[comparison.second.run] if comparison.played else None,
                "measures": {name: measures[n, name] for name in comparison.measures},
            }
        )
        for n, comparison in enumerate(comparisons)
    )


def _check_environments(first: RunResults, second: RunResults) -> None:
    if first.environments and second.environments and not first.environments & second.environments:
        names = [", ".join(sorted(run.environments)) for run in (first, second)]
        raise BadArgument(
            f"{first.name} plays {names[0]} and {second.name} plays {names[1]}; "
            "only runs of the same environment can be compared"
        )


def _describe(run: RunResults) -> str:
    first = f", starting with {run.counted[0].name}" if run.counted else ""
    return counted(len(run.counted), "episode") + first


def _by_key(run: RunResults) -> dict[tuple[str, str, int, int], Result]:
    rows: dict[tuple[str, str, int, int], Result] = {}
    for row in run.counted:
        task = row.entry.task
        if rows.setdefault((task.env, task.id, task.seed, row.repeat), row) is not row:
            raise BadArgument(
                f"{run.name} has two episodes of {row.name}, from different runs; import or copy the episodes of each "
                "run into a folder of its own, and compare those"
            )
    return rows


def _by_type(pairs: Sequence[Pair]) -> dict[str, SolvedDifference]:
    types = sorted({row.type for row, _ in pairs})
    of_type = {kind: [pair for pair in pairs if pair[0].type == kind] for kind in types}
    return with_corrected_p({kind: solved_difference(group) for kind, group in of_type.items()})


def _side(run: RunResults, rows: Sequence[Result]) -> Side:
    outcomes = [row.outcome for row in rows]
    solved = sum(outcome.solved for outcome in outcomes)
    low, high = solved_interval(rows) or (None, None)
    broken, not_run = outcomes.count(Outcome.BROKEN), outcomes.count(Outcome.NOT_RUN)
    payoff = run.payoff(rows)
    return Side(run=run.name, solved=solved, low=low, high=high, broken=broken, not_run=not_run, paying=payoff)


def _with_break_even(side: Side, other: Side) -> Side:
    """Return the side with the number of solved tasks after which its learning pays, if only this run uses learning."""
    if not (side.paying and other.paying):
        return side
    return side.model_copy(update={"paying": side.paying.compared_with(other.run, other.paying)})


def _changed(pairs: Iterable[Pair]) -> Iterable[ChangedPair]:
    for first, second in pairs:
        if gain((first, second)):
            unsolved = first if second.solved else second
            yield ChangedPair(
                task=first.entry.task.id,
                repeat=first.repeat,
                type=first.type,
                change="gained" if second.solved else "lost",
                cause=unsolved.ending.cause,
                unplayed=not unsolved.outcome.played,
            )


def warnings(first: RunResults, second: RunResults) -> Iterable[str]:
    """Yield sentences about what a reader of the comparison must take into account."""
    seeds = first.run.config.seed, second.run.config.seed
    if seeds[0] != seeds[1]:
        yield (
            f"The runs have different seeds (--seed {seeds[0]} and {seeds[1]}): tasks are paired by their own seeds, "
            "but plans and the models that take a seed had different random numbers."
        )
    for run in (first, second):
        if run.is_building_run:
            yield (
                f"{run.name} is a run of `planbook build`: its later tasks were played with knowledge from the earlier "
                "ones, so they are not independent."
            )
        if run.run.config.copies:
            yield f"{run.name} copied its episodes, so their costs are those of the original runs."
        if faults := run.contradictions():
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            yield f"{run.name} contradicts itself: {faults[0]}{more}"


# Tables and sentences, for the terminal and the report

SHOWN_CHANGES, SHOWN_NAMES = 8, 5
"""Maximum numbers of changed pairs and of names in a sentence. The JSON output has all of them."""
LEAST_P = 0.001
"""A smaller p value is shown as "< 0.001"."""

Letters = tuple[str, str]
"""The letters that stand for the first and the second run."""


def run_letter(number: int) -> str:
    """Return the letter that stands for a run: A for number 0, and so on. After Z, return its position: "run 27"."""
    return ascii_uppercase[number] if number < len(ascii_uppercase) else f"run {number + 1}"


def comparison_parts(compared: RunComparison, letters: Letters) -> Iterator[Grid | str]:
    """Yield the sentences and tables that show a comparison."""
    first, second = letters
    yield f"{first}: {compared.first.run}"
    yield f"{second}: {compared.second.run}"
    yield "Settings that differ:" if compared.settings else "Both have the same settings and versions."
    yield from (
        f"  {row.name}: {abridged(row.first)}; in {second}: {abridged(row.second)}" for row in compared.settings
    )
    yield from _unpaired(compared, letters)
    yield from (f"Note: {warning}" for warning in compared.warnings)
    yield _success(compared, letters)
    yield (
        f"Test: {compared.overall.test}; p is corrected by Holm's method: that of a task type over all types, "
        f"that of all pairs over the runs that are compared with {first}. Intervals (95 %): "
        f"{compared.overall.interval}; those of costs: over tasks. A difference is significant if p is below {NOISE}. "
        "The intervals are not corrected, so near this bound they may disagree with the test."
    )
    yield from _changes(compared, letters)
    if compared.measures:
        yield _measures(compared.measures, letters)
        yield (
            "Test: paired t over tasks; p is corrected by Holm's method over all measures, and over the runs that are "
            f"compared with {first}; the intervals are not."
        )
        significant = [measure for measure, row in compared.measures.items() if row.is_significant]
        yield f"Statistically significant: {', '.join(significant) or 'none'}."
    if compared.costs:
        yield _costs(compared, letters)
    names = {compared.first.run: first, compared.second.run: second}
    sides = (compared.first, compared.second)
    yield from payoff_table({names[side.run]: side.paying and side.paying.named(names) for side in sides})
    yield from result_lines(compared, letters)


def result_lines(compared: RunComparison, letters: Letters) -> Iterator[str]:
    """Yield a sentence with the result.

    If some episodes broke or were not run, also yield their number, and the result without their pairs.
    """
    overall, played, sides = compared.overall, compared.played, (compared.first, compared.second)
    yield f"{_result_in_words(overall, letters)}."
    if any(side.broken or side.not_run for side in sides):
        counts = [
            f"{side.broken} broken and {side.not_run} not run in {letter}"
            for letter, side in zip(letters, sides, strict=True)
        ]
        result_of_played = _result_in_words(played, letters) if played else "nothing is left to compare"
        yield f"Counted as not solved: {', '.join(counts)}. Without these pairs: {result_of_played}."
    if played and (played.is_significant, played.more > 0) != (overall.is_significant, overall.more > 0):
        yield "The result depends on them: play them (planbook run --resume RUN) before relying on it."


def _result_in_words(difference: SolvedDifference, letters: Letters) -> str:
    pairs, more = f"{difference.pairs:,}", difference.more
    if not difference.gained and not difference.lost:
        return f"{letters[0]} and {letters[1]} solved the same {difference.first:,} of {pairs}: no difference"
    count = f"{abs(more):,} {'more' if more > 0 else 'fewer'}" if more else "as many"
    test = "McNemar" if difference.test == MCNEMAR else "sign flips over tasks,"
    holm = " after Holm" if difference.p_corrected != difference.p else ""
    change = f"{100 * difference.difference:+.1f} points, {100 * difference.low:+.1f} to {100 * difference.high:.1f}"
    result = f"{letters[1]} solved {count} of {pairs} ({change}; {test} p {_p(difference.p_corrected)}{holm})"
    if difference.is_significant:
        return f"{result}: statistically significant"
    return f"{result}: this difference may be noise" if more else f"{result}: no difference"


def _unpaired(compared: RunComparison, letters: Letters) -> Iterator[str]:
    only = compared.only_first, compared.only_second
    for letter, names, left_out in zip(letters, only, compared.left_out, strict=True):
        if names:
            yield f"Only in {letter}, and not counted below ({len(names)}): {listed(names, SHOWN_NAMES)}."
        if left_out:
            yield f"Skipped by the build in {letter}, and not counted below: {left_out}."


def _success(compared: RunComparison, letters: Letters) -> Grid:
    columns = ("pairs", *_columns(letters), "95 % interval", "gained", "lost", "p")
    kinds = compared.by_type | ({"all": compared.overall} if len(compared.by_type) > 1 else {})
    rows = [(kind, *_cells(difference)) for kind, difference in kinds.items()]
    return Grid(
        f"Solved, of the shared tasks; {_columns(letters)[-1]} in percentage points", "task type", columns, rows
    )


def _columns(letters: Letters) -> tuple[str, str, str]:
    return (*letters, f"{letters[1]} - {letters[0]}")


def _cells(row: SolvedDifference) -> Iterator[str]:
    yield from (f"{count:,}" for count in (row.pairs, row.first, row.second))
    yield from points(row.difference, row.low, row.high)
    yield from (str(row.gained), str(row.lost), _p(row.p_corrected).removeprefix("= "))


def _measures(measures: Mapping[str, MeasureDifference], letters: Letters) -> Grid:
    rows = []
    for measure, row in measures.items():
        bounds = NO_FIGURE if row.low is None or row.high is None else f"{row.low:.4g} to {row.high:.4g}"
        p = NO_FIGURE if row.p_corrected is None else _p(row.p_corrected).removeprefix("= ")
        means = map(format_number, (row.first, row.second))
        rows.append((measure, str(row.pairs), *means, f"{row.difference:+.4g}", bounds, p))
    title = "Measured by the environment: means over the pairs that both runs played"
    return Grid(title, "measure", ("pairs", *_columns(letters), "95 % interval", "p"), rows)


def _changes(compared: RunComparison, letters: Letters) -> Iterator[str]:
    for change, (other, solver) in (("gained", letters), ("lost", letters[::-1])):
        if changed := [_change(pair) for pair in compared.changed if pair.change == change]:
            names = listed(changed, SHOWN_CHANGES)
            yield f"Solved by {solver} only ({len(changed)}), with its outcome in {other}: {names}."


def _change(changed: ChangedPair) -> str:
    repeat = f" repeat {changed.repeat}" if changed.repeat else ""
    return f"{changed.task}{repeat} ({in_words(changed.cause)})"


def _costs(compared: RunComparison, letters: Letters) -> Grid:
    rows = [(cost, *map(_estimate, (row.first, row.second, row.difference))) for cost, row in compared.costs.items()]
    title = "Spent per solved task; seconds are those of the episodes, on this machine"
    return Grid(title, "", _columns(letters), rows)


def _estimate(estimate: Estimate) -> str:
    if estimate.low is None and estimate.high is None:
        return format_number(estimate.value, 3)
    low, high = ("no bound" if bound is None else format_number(bound, 3) for bound in estimate[1:])
    return f"{format_number(estimate.value, 3)}\n({low} to {high})"


def _p(p: float) -> str:
    return f"< {LEAST_P}" if p < LEAST_P else f"= {p:.2g}"
