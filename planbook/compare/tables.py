"""Show comparisons of runs as small tables and sentences, for the terminal and the report."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from planbook.compare.differences import MCNEMAR, NOISE, MeasureDifference, SolvedDifference, abridged
from planbook.compare.groups import GroupRow
from planbook.compare.pairs import ChangedPair, RunComparison
from planbook.planner import Grid
from planbook.results.learning_cost import payoff_table
from planbook.results.measures import format_number
from planbook.results.statistics import Estimate
from planbook.wording import NO_FIGURE, counted, in_words, interval, listed

SHOWN_CHANGES, SHOWN_NAMES = 8, 5
"""Maximum numbers of changed pairs and of names that are displayed. The JSON output has all of them."""
LEAST_P = 0.001
BUILDING = " (building)"


def comparison_parts(compared: RunComparison, name: str) -> Iterator[Grid | str]:
    """Yield the parts of a comparison. The first run is called A, and ``name`` is the letter of the second run."""
    yield f"A: {compared.first.run}"
    yield f"{name}: {compared.second.run}"
    yield "Settings that differ:" if compared.settings else "Both have the same settings and versions."
    yield from (f"  {row.name}: {abridged(row.first)}; in {name}: {abridged(row.second)}" for row in compared.settings)
    yield from _unpaired(compared, name)
    yield from (f"Note: {warning}" for warning in compared.warnings)
    yield _success(compared, name)
    yield (
        f"Test: {compared.overall.test}; p is corrected by Holm's method: for a task type over the types, for all "
        f"pairs over the runs that are compared with A. Intervals (95 %): "
        f"{compared.overall.interval}; of costs, over tasks. A difference is more than noise if p is below "
        f"{NOISE}; an interval shows its size, is not corrected, and may disagree near that bound."
    )
    yield from _changes(compared, name)
    if compared.measures:
        yield _measures(compared.measures, name)
        yield (
            "Test: paired t over tasks; p is corrected by Holm's method over all measures, and over the runs that are "
            "compared with A; the intervals are not."
        )
        significant = [measure for measure, row in compared.measures.items() if row.is_significant]
        yield f"More than noise would give: {', '.join(significant) or 'none'}."
    if compared.costs:
        yield _costs(compared, name)
    letters = {compared.first.run: "A", compared.second.run: name}
    sides = (compared.first, compared.second)
    yield from payoff_table({letters[side.run]: side.paying and side.paying.named(letters) for side in sides})
    yield from result_lines(compared, name)


def result_lines(compared: RunComparison, name: str) -> Iterator[str]:
    """Yield the result in words.

    If some episodes were not played, also yield their number, and the result without them.
    """
    overall, played, sides = compared.overall, compared.played, (("A", compared.first), (name, compared.second))
    yield f"{_result_in_words(overall, name)}."
    if any(side.broken or side.not_run for _, side in sides):
        counts = [f"{side.broken} broken and {side.not_run} not run in {letter}" for letter, side in sides]
        result_of_played = _result_in_words(played, name) if played else "none is left"
        yield f"Counted as not solved: {', '.join(counts)}. Without these pairs: {result_of_played}."
    if played and (played.is_significant, played.more > 0) != (overall.is_significant, overall.more > 0):
        yield "The result depends on them: play them (planbook run --resume RUN) before relying on it."


def _result_in_words(difference: SolvedDifference, name: str) -> str:
    pairs, more = f"{difference.pairs:,}", difference.more
    if not difference.gained and not difference.lost:
        return f"A and {name} solved the same {difference.first:,} of {pairs}: that shows no difference"
    count = f"{abs(more):,} {'more' if more > 0 else 'fewer'}" if more else "as many"
    test = "McNemar" if difference.test == MCNEMAR else "sign flips over tasks,"
    holm = " after Holm" if difference.p_corrected != difference.p else ""
    points = f"{100 * difference.difference:+.1f} points, {100 * difference.low:+.1f} to {100 * difference.high:.1f}"
    result = f"{name} solved {count} of {pairs} ({points}; {test} p {_p(difference.p_corrected)}{holm})"
    if difference.is_significant:
        return f"{result}: more than noise would give"
    return f"{result}: this difference may be noise" if more else f"{result}: no difference"


def _unpaired(compared: RunComparison, name: str) -> Iterator[str]:
    sides = (("A", compared.only_first), (name, compared.only_second))
    for (letter, names), left_out in zip(sides, compared.left_out, strict=True):
        if names:
            yield f"Only in {letter}, and in no figure below ({len(names)}): {listed(names, SHOWN_NAMES)}."
        if left_out:
            yield f"Left out of building in {letter}, and in no figure below: {left_out}."


def _success(compared: RunComparison, name: str) -> Grid:
    columns = ("pairs", "A", name, f"{name} - A", "95 % interval", "gained", "lost", "p")
    kinds = compared.by_type | ({"all": compared.overall} if len(compared.by_type) > 1 else {})
    rows = [(kind, *_cells(difference)) for kind, difference in kinds.items()]
    return Grid(f"Solved, of the same tasks; {name} - A in points", "task type", columns, rows)


def _cells(row: SolvedDifference) -> Iterator[str]:
    yield from (f"{count:,}" for count in (row.pairs, row.first, row.second))
    yield f"{100 * row.difference:+.1f}"
    yield f"{100 * row.low:.1f} to {100 * row.high:.1f}"
    yield from (str(row.gained), str(row.lost), _p(row.p_corrected).removeprefix("= "))


def _measures(measures: Mapping[str, MeasureDifference], name: str) -> Grid:
    rows = []
    for measure, row in measures.items():
        bounds = NO_FIGURE if row.low is None or row.high is None else f"{row.low:.4g} to {row.high:.4g}"
        p = NO_FIGURE if row.p_corrected is None else _p(row.p_corrected).removeprefix("= ")
        means = map(format_number, (row.first, row.second))
        rows.append((measure, str(row.pairs), *means, f"{row.difference:+.4g}", bounds, p))
    title = "Measured by the environment: means over the pairs that both runs played"
    return Grid(title, "measure", ("pairs", "A", name, f"{name} - A", "95 % interval", "p"), rows)


def _changes(compared: RunComparison, name: str) -> Iterator[str]:
    for change, solver, other in (("gained", name, "A"), ("lost", "A", name)):
        if changed := [_change(pair) for pair in compared.changed if pair.change == change]:
            names = listed(changed, SHOWN_CHANGES)
            yield f"Solved by {solver} only ({len(changed)}), with its outcome in {other}: {names}."


def _change(changed: ChangedPair) -> str:
    repeat = f" repeat {changed.repeat}" if changed.repeat else ""
    return f"{changed.task}{repeat} ({in_words(changed.cause)})"


def _costs(compared: RunComparison, name: str) -> Grid:
    rows = [(cost, *map(_estimate, (row.first, row.second, row.difference))) for cost, row in compared.costs.items()]
    title = "Spent per solved task; seconds are those of the episodes, on this machine"
    return Grid(title, "", ("A", name, f"{name} - A"), rows)


def _estimate(estimate: Estimate) -> str:
    if estimate.low is None and estimate.high is None:
        return _figure(estimate.value)
    low, high = ("no bound" if bound is None else format_number(bound, 3) for bound in estimate[1:])
    return f"{_figure(estimate.value)}\n({low} to {high})"


def _p(p: float) -> str:
    return f"< {LEAST_P}" if p < LEAST_P else f"= {p:.2g}"


def _figure(figure: float | None) -> str:
    return NO_FIGURE if figure is None else format_number(figure, 3)


# Rows of any number of runs.


def group_parts(rows: Sequence[GroupRow]) -> Iterator[Grid | str]:
    """Yield two tables with a row for each run or group, and lines with what the tables do not show."""
    single = all(row.runs == (row.name,) for row in rows)
    folder = _common_folder([row.name for row in rows]) if single else ""
    if folder:
        yield f"Runs below {folder}"
    names = [(os.path.relpath(row.name, folder) if folder else row.name) + BUILDING * row.building for row in rows]
    named = list(zip(names, rows, strict=True))
    label = "run" if single else "runs"
    solved = ("episodes", "solved", "%", "95 % interval", "broken", "not run")
    yield Grid("Solved, of all episodes", label, solved, [(name, *_solved(row)) for name, row in named])
    spent = ("actions", "errors", "calls", "tokens", "$", "calls / solved", "$ / solved", "seconds")
    title = "Actions and error steps: means over played episodes; the rest: sums, seconds without time between episodes"
    yield Grid(title, label, spent, [(name, *_spent(row)) for name, row in named])
    short = {row.name: name for name, row in named}
    payoffs = {name: row.paying and row.paying.named(short) for name, row in named}
    yield from payoff_table(payoffs, label)
    for name, row in named:
        yield from (f"{name}: {line}." for line in _group_lines(row))
    if any(row.building for row in rows):
        yield "Runs of `planbook build`: later tasks were played with knowledge from the earlier ones."


def _common_folder(names: Sequence[str]) -> str:
    """Return the folder that contains all runs, or "" if there is none."""
    if len({Path(name).is_absolute() for name in names}) > 1:
        return ""
    return os.path.commonpath([Path(name).parent for name in names])


def _solved(row: GroupRow) -> Iterator[str]:
    yield from (f"{row.tasks:,}", f"{row.solved:,}")
    yield f"{row.share:.1%}".rstrip("%") if row.tasks else NO_FIGURE
    yield interval(row.low, row.high) if row.tasks and not row.broken and not row.not_run else NO_FIGURE
    yield from (str(row.broken), str(row.not_run))


def _spent(row: GroupRow) -> Iterator[str]:
    yield from map(_figure, (row.mean_actions, row.mean_error_steps))
    yield from (f"{row.calls:,}", f"{row.tokens:,}")
    yield from map(_figure, (row.money, row.per_solved.calls, row.per_solved.money, row.seconds))


def _group_lines(row: GroupRow) -> Iterator[str]:
    if row.differ:
        yield f"the runs are pooled, and differ in {listed(row.differ, SHOWN_NAMES)}"
    if row.share_mean is not None and row.share_sd is not None:
        yield f"{len(row.runs)} runs, solved in each {row.share_mean:.1%} ± {row.share_sd:.1%}"
    if row.several:
        yield (
            f"of {counted(row.several, 'task')} played several times, {row.once:,} solved at least once "
            f"({row.once / row.several:.1%}) and {row.every_time:,} every time ({row.every_time / row.several:.1%})"
        )
    if row.left_out:
        yield f"{row.left_out} building tasks left out, as their type was solved often enough"
