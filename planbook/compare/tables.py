"""Comparisons and rows of runs as tables and sentences."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table

from planbook.compare.differences import MCNEMAR, NOISE, MeasureDifference, SolvedDifference
from planbook.compare.groups import GroupRow
from planbook.compare.pairs import ChangedPair, RunComparison
from planbook.console import right_aligned
from planbook.outcomes import in_words
from planbook.results import plain
from planbook.results.statistics import Estimate
from planbook.wording import NO_FIGURE, counted, interval, listed

TOLD_CHANGES, TOLD_UNPAIRED = 8, 5
"""Of each kind; the JSON has all."""
LEAST_P = 0.001
BUILDING = " (building)"


def comparison_parts(compared: RunComparison, name: str) -> Iterator[Table | str]:
    """Tell a comparison whole; ``name`` is the letter of the second run, the first one is A."""
    yield f"A: {compared.first.run}"
    yield f"{name}: {compared.second.run}"
    yield _settings(compared, name) if compared.settings else "Both have the same settings and versions."
    yield from _unpaired(compared, name)
    yield from (f"Mind: {warning}" for warning in compared.warnings)
    yield _success(compared, name)
    yield _how(compared)
    yield from _changes(compared, name)
    yield from _measures(compared, name)
    if compared.costs:
        yield _costs(compared, name)
        yield from _actions(compared, name)
    yield from verdict_lines(compared, name)


def verdict_lines(compared: RunComparison, name: str) -> Iterator[str]:
    """Tell the verdict in words."""
    overall = compared.overall
    yield f"{_verdict(overall, name, compared.measures)}."
    if not overall.is_told_apart and compared.tasks_needed:
        yield (
            f"To tell a difference like this one from noise in four of five comparisons (80 % power) takes about "
            f"{compared.tasks_needed:,} such tasks; here are {overall.tasks:,}."
        )
    if compared.played is not None:
        yield from _without_unplayed(compared, compared.played, name)


def _verdict(found: SolvedDifference, name: str, measures: Mapping[str, MeasureDifference]) -> str:
    if not found.gained and not found.lost:
        same = f"A and {name} solved the same {found.first:,} of {found.pairs:,}: that does not tell them apart"
        return f"{same}{_by_measures(measures)}"
    more = f"{abs(found.more):,} {'more' if found.more > 0 else 'fewer'}" if found.more else "as many"
    of = f"{name} solved {more} of {found.pairs:,} ({_points(found)}; {_test(found)})"
    if found.is_told_apart:
        return f"{of}: more than noise would give"
    return f"{of}: this difference may be noise" if found.more else f"{of}: no difference"


def _by_measures(measures: Mapping[str, MeasureDifference]) -> str:
    """Say whether measures of the environment tell two runs apart that solved the same."""
    apart = ", ".join(what for what, each in measures.items() if each.is_told_apart)
    if apart:
        return f"; what the world measures does: {apart}"
    return ", nor does what the world measures" if measures else ""


def _without_unplayed(compared: RunComparison, played: SolvedDifference, name: str) -> Iterator[str]:
    """Tell the verdict over pairs that both were played, and whether it is another one."""
    counts = [
        f"{letter} {side.broken} broken and {side.not_run} not run"
        for letter, side in (("A", compared.first), (name, compared.second))
    ]
    yield f"Counted as not solved: of {', of '.join(counts)}. Left out: {_verdict(played, name, compared.measures)}."
    if (played.is_told_apart, played.more > 0) != (compared.overall.is_told_apart, compared.overall.more > 0):
        yield "The verdict hangs on them: play them (planbook run --resume RUN) before you believe it."


def _settings(compared: RunComparison, name: str) -> Table:
    table = Table(title="other settings", title_justify="left")
    for column in ("setting", "A", name):
        table.add_column(column, overflow="fold")
    for each in compared.settings:
        table.add_row(each.name, each.first, each.second)
    return table


def _unpaired(compared: RunComparison, name: str) -> Iterator[str]:
    for letter, names, left_out in (
        ("A", compared.only_first, compared.left_out[0]),
        (name, compared.only_second, compared.left_out[1]),
    ):
        if names:
            yield f"Only in {letter}, and in no figure below ({len(names)}): {listed(names, TOLD_UNPAIRED)}."
        if left_out:
            yield f"Left out of building in {letter}, and in no figure below: {left_out}."


def _success(compared: RunComparison, name: str) -> Table:
    columns = ("pairs", "A", name, f"{name} - A", "95 % interval", "gained", "lost", "p")
    table = right_aligned("task type", columns, title=f"Solved, of the same tasks; {name} - A in points")
    sides = (compared.first, compared.second)
    several = len(compared.by_type) > 1
    for kind, found in compared.by_type.items():
        table.add_row(kind, *_cells(found))
    if several:
        table.add_section()
        table.add_row("all", *_cells(compared.overall), style="bold")
    if any(side.broken or side.not_run for side in sides):
        table.add_section()
        for what in ("broken", "not run"):
            counts = [str(getattr(side, what.replace(" ", "_"))) for side in sides]
            table.add_row(f"of them {what}", "", *counts)
    return table


def _cells(found: SolvedDifference) -> Iterable[str]:
    return (
        str(found.pairs),
        str(found.first),
        str(found.second),
        _signed(100 * found.difference),
        f"{100 * found.low:.1f} to {100 * found.high:.1f}",
        str(found.gained),
        str(found.lost),
        _p(found.p_corrected).removeprefix("= "),
    )


def _how(compared: RunComparison) -> str:
    overall = compared.overall
    pairs = (
        ""
        if overall.test == MCNEMAR
        else f"; over pairs, as if they were independent, McNemar p {_p(overall.p_of_pairs)}"
    )
    several = "; p of all corrected for the runs compared, after Holm" if overall.p_corrected != overall.p else ""
    holm = "; p of task types corrected after Holm" if len(compared.by_type) > 1 else ""
    tests = f"Test: {overall.test}{pairs}{holm}{several}."
    return (
        f"{tests} Intervals (95 %): {overall.interval}; of costs, over tasks. Whether a difference is more "
        f"than noise p alone says (below {NOISE}); an interval shows its size, is not corrected, and may disagree near "
        "that bound."
    )


def _measures(compared: RunComparison, name: str) -> Iterator[Table | str]:
    """Tell the measures of both runs, and which of them differ by more than noise."""
    found = compared.measures
    if not found:
        return
    columns = ("pairs", "A", name, f"{name} - A", "95 % interval", "p")
    table = right_aligned("measure", columns, title="Measured by the world: means over pairs that both were played")
    for what, each in found.items():
        means = map(plain, (each.first, each.second))
        table.add_row(what, str(each.pairs), *means, f"{each.difference:+.4g}", _bounds(each), _chance(each))
    yield table
    yield f"Test of what is measured: {_how_measured(found.values())}. {_noise(found)}."


def _how_measured(found: Iterable[MeasureDifference]) -> str:
    if all(each.p_corrected == each.p for each in found):
        return "paired t over tasks, whose interval agrees with it"
    return (
        "paired t over tasks; p is corrected after Holm, the intervals are not: where one leaves out 0 and p is not "
        f"below {NOISE}, p rules"
    )


def _noise(found: Mapping[str, MeasureDifference]) -> str:
    if apart := [what for what, each in found.items() if each.is_told_apart]:
        return f"More than noise would give: {', '.join(apart)}"
    if not any(each.is_tested or each.difference for each in found.values()):
        return "There is no difference"
    return "Each of these differences may be noise"


def _bounds(found: MeasureDifference) -> str:
    if found.low is None or found.high is None:
        return NO_FIGURE
    return f"{found.low:.4g} to {found.high:.4g}"


def _chance(found: MeasureDifference) -> str:
    return NO_FIGURE if found.p_corrected is None else _p(found.p_corrected).removeprefix("= ")


def _changes(compared: RunComparison, name: str) -> Iterator[str]:
    for change, solver, other in (("gained", name, "A"), ("lost", "A", name)):
        found = [each for each in compared.changed if each.change == change]
        if found:
            told = listed([_change(each) for each in found], TOLD_CHANGES)
            yield f"Solved by {solver} only ({len(found)}), with what became of it in {other}: {told}."


def _change(changed: ChangedPair) -> str:
    repeat = f" repeat {changed.repeat}" if changed.repeat else ""
    return f"{changed.task}{repeat} ({in_words(changed.cause)})"


def _costs(compared: RunComparison, name: str) -> Table:
    table = right_aligned(
        "",
        ("A", name, f"{name} - A"),
        title="Spent for each task solved; seconds are those of the episodes, on this machine",
    )
    for what, cost in compared.costs.items():
        figures = (cost.first, cost.second, cost.difference)
        table.add_row(what, *(_estimate(figure).replace(" (", "\n(") for figure in figures))
    return table


def _actions(compared: RunComparison, name: str) -> Iterator[str]:
    found = compared.extra_actions
    if found.value is not None:
        yield (
            f"Actions in the {counted(compared.both_solved, 'pair')} that both solved: {name} took {_estimate(found)} "
            "more than A, in the mean."
        )


def _estimate(found: Estimate) -> str:
    if found.value is None:
        return NO_FIGURE
    if found.low is None and found.high is None:
        return plain(found.value, 3)
    low, high = ("no bound" if each is None else plain(each, 3) for each in found[1:])
    return f"{plain(found.value, 3)} ({low} to {high})"


def _points(found: SolvedDifference) -> str:
    return f"{_signed(100 * found.difference)} points, {100 * found.low:.1f} to {100 * found.high:.1f}"


def _test(found: SolvedDifference) -> str:
    name = "McNemar" if found.test == MCNEMAR else "sign flips over tasks,"
    holm = " after Holm" if found.p_corrected != found.p else ""
    return f"{name} p {_p(found.p_corrected)}{holm}"


def _p(chance: float) -> str:
    return f"< {LEAST_P}" if chance < LEAST_P else f"= {chance:.2g}"


def _signed(points: float) -> str:
    return f"{points:+.1f}"


# Rows of any number of runs.


def group_parts(rows: Sequence[GroupRow]) -> Iterator[Table | str]:
    """Tell rows of runs: two tables, and lines for what does not fit in them."""
    single = all(row.runs == (row.name,) for row in rows)
    below = _common([row.name for row in rows]) if single else ""
    if below:
        yield f"Runs below {below}"
    names = [(os.path.relpath(row.name, below) if below else row.name) + BUILDING * row.building for row in rows]
    what = "run" if single else "runs"
    yield _solved_table(what, names, rows)
    yield _spent_table(what, names, rows)
    for name, row in zip(names, rows, strict=True):
        yield from (f"{name}: {line}." for line in _group_lines(row))
    if any(row.building for row in rows):
        yield "Building runs: later tasks were played with what was learned from the earlier ones."


def _common(names: Sequence[str]) -> str:
    """Return the folder that all runs lie in; empty if there is none."""
    if len({Path(name).is_absolute() for name in names}) > 1:
        return ""
    return os.path.commonpath([Path(name).parent for name in names])


def _solved_table(what: str, names: Sequence[str], rows: Sequence[GroupRow]) -> Table:
    columns = ("tasks", "solved", "%", "95 % interval", "broken", "not run")
    table = right_aligned(what, columns, title="Solved, of all tasks")
    for name, row in zip(names, rows, strict=True):
        share = f"{row.share:.1%}".rstrip("%") if row.tasks else NO_FIGURE
        within = interval(row.low, row.high) if row.tasks and not row.not_run else NO_FIGURE
        table.add_row(name, f"{row.tasks:,}", f"{row.solved:,}", share, within, str(row.broken), str(row.not_run))
    return table


def _spent_table(what: str, names: Sequence[str], rows: Sequence[GroupRow]) -> Table:
    columns = ["actions", "errors", "calls", "tokens", "$", "calls / solved", "$ / solved", "seconds"]
    title = "Actions and error steps: means over what was played; the rest: sums, seconds those of the episodes alone"
    table = right_aligned(what, columns, title=title)
    for name, row in zip(names, rows, strict=True):
        each = row.per_solved
        table.add_row(
            name,
            *map(_figure, (row.mean_actions, row.mean_error_steps)),
            f"{row.calls:,}",
            f"{row.tokens:,}",
            *map(_figure, (row.money, each.calls, each.money, row.seconds)),
        )
    return table


def _group_lines(row: GroupRow) -> Iterator[str]:
    if row.share_mean is not None and row.share_sd is not None:
        yield f"{len(row.runs)} runs, solved in each {row.share_mean:.1%} ± {row.share_sd:.1%}"
    if row.several:
        yield (
            f"of {row.several:,} tasks that were played several times {row.once:,} were solved at least once "
            f"({row.once / row.several:.1%}) and {row.every_time:,} every time ({row.every_time / row.several:.1%})"
        )
    if row.left_out:
        yield f"{row.left_out} building tasks left out, as their type was solved often enough"


def _figure(figure: float | None) -> str:
    return NO_FIGURE if figure is None else plain(figure, 3)
