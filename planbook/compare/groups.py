"""A table of any number of runs, with a row for each run, or for each group of runs that share some settings."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

from planbook.compare.settings import SEEDS, abridged, differing_names, setting
from planbook.console import ALL
from planbook.planner import Grid, Spending, figures_of
from planbook.results import COSTS_MISSING, RunResults, payoff_of
from planbook.results.learning_cost import LearningPayoff, payoff_table
from planbook.results.statistics import per_solved
from planbook.results.summary import Summary, summarise
from planbook.wording import NO_FIGURE, format_money, format_number, interval, listed


class GroupRow(Summary):
    """A row about one run, or about a group of runs: the summary of all their episodes.

    The costs include the cost of learning. Copied episodes cost nothing. ``seconds`` is the total duration of the
    episodes. ``share_mean`` and ``share_sd`` are the mean and the standard deviation, over the runs, of the share of
    solved episodes. They are None for a single run, or if some episodes were not played.
    """

    name: str
    runs: tuple[str, ...]
    differ: tuple[str, ...] = ()
    """The settings (apart from seeds and repeats) and the inputs in which the runs of the group differ."""
    building: bool
    """True if one of the runs is a run of `planbook build`, which plays later tasks with more knowledge than earlier
    ones."""
    interval: tuple[float, float] | None
    """The 95 % interval of the share of solved episodes, or None if some episodes were not played."""
    share_mean: float | None
    share_sd: float | None
    without_costs: int
    """Number of episodes whose costs are missing, because only their endings were exported."""


def group_rows(runs: Sequence[RunResults], setting_names: Sequence[str] = ()) -> tuple[GroupRow, ...]:
    """Return a row for each run or, if settings are named, for each group of runs that agree on these settings."""
    groups = defaultdict[str, list[RunResults]](list)
    for run in runs:
        values = (f"{name}={abridged(setting(run.run.config, name))}" for name in setting_names)
        groups[", ".join(values) or run.name].append(run)
    payoffs = payoff_by_group(groups)
    return tuple(_group_row(name, members, payoffs[name]) for name, members in groups.items())


def payoff_by_group(groups: Mapping[str, Sequence[RunResults]]) -> dict[str, LearningPayoff | None]:
    """Return a dict that maps each group to its cost per solved task, without and with the cost of learning.

    The cost is None if a run of the group is a fork, or if the cost of earlier learning is unknown.

    A group is compared with the first group that uses no learned knowledge, and whose settings and inputs are the same
    apart from seeds and knowledge. A group is not compared if it contains runs of `planbook build`, or if its own runs
    differ in other settings.
    """
    payoffs = {name: payoff_of(runs) for name, runs in groups.items()}
    baselines = {name: payoff for name, payoff in payoffs.items() if payoff and not payoff.has_learned}
    for name, payoff in payoffs.items():
        if not payoff or not payoff.has_learned or any(run.is_building_run for run in groups[name]):
            continue  # a run of `planbook build` plays different tasks
        pooled = {other: (*groups[name], *groups[other]) for other in baselines}
        comparable = (other for other, runs in pooled.items() if not differing_names(runs, SEEDS, knowledge=False))
        if baseline := next(comparable, None):
            payoffs[name] = payoff.compared_with(baseline, baselines[baseline])
    return payoffs


def _group_row(name: str, runs: Sequence[RunResults], payoff: LearningPayoff | None) -> GroupRow:
    rows = [row for run in runs for row in run.episodes.values()]
    imported = any(run.run.imported for run in runs)
    seconds = None if imported else sum(row.seconds for row in rows if not row.is_copied)
    spent = sum((run.cost for run in runs), Spending())
    planners, environments = {run.run.config.planner for run in runs}, {run.run.config.env for run in runs}
    figures = figures_of(*planners) if len(planners) == 1 else ()
    milestones = runs[0].all_milestones if len(environments) == 1 else ()
    unjudgeable = sum((Counter(run.run.unjudgeable) for run in runs), Counter[str]())
    summary = summarise(rows, seconds, name, spent, milestones, unjudgeable, figures, payoff)
    bounds = summary.intervals[ALL]
    shares = [fmean(row.solved for row in run.counted_rows) for run in runs if run.counted_rows and bounds]
    return GroupRow(
        **dict(summary),
        name=name,
        runs=tuple(run.name for run in runs),
        differ=differing_names(runs, SEEDS),
        building=any(run.is_building_run for run in runs),
        without_costs=sum(run.without_costs for run in runs),
        interval=bounds,
        share_mean=fmean(shares) if len(shares) > 1 else None,
        share_sd=stdev(shares) if len(shares) > 1 else None,
    )


BUILDING_MARK = " (building)"
MAX_SETTINGS = 5
"""Maximum number of differing settings that a line names."""


def group_parts(rows: Sequence[GroupRow]) -> Iterator[Grid | str]:
    """Yield tables with a row for each run or group, and lines with further facts."""
    are_single_runs = all(row.runs == (row.name,) for row in rows)
    folder = _common_folder([row.name for row in rows]) if are_single_runs else ""
    if folder:
        yield f"Names of runs are relative to {folder}"
    names = [(os.path.relpath(row.name, folder) if folder else row.name) + BUILDING_MARK * row.building for row in rows]
    named_rows = list(zip(names, rows, strict=True))
    label = "run" if are_single_runs else "runs"
    solved_columns = ("episodes", "solved", "%", "95 % interval", "broken", "not run")
    yield Grid(
        "Solved, of all episodes", label, solved_columns, [(name, *_solved_cells(row)) for name, row in named_rows]
    )
    cost_columns = ("actions", "errors", "calls", "tokens", "money", "calls / solved", "money / solved", "seconds")
    title = (
        "Actions and errors are means over the played episodes; calls, tokens, money and seconds are sums. Seconds "
        "exclude the time between episodes"
    )
    yield Grid(title, label, cost_columns, [(name, *_cost_cells(row)) for name, row in named_rows])
    short_names = {row.name: name for name, row in named_rows}
    payoffs = {name: row.paying and row.paying.named(short_names) for name, row in named_rows}
    yield from payoff_table(payoffs, label)
    for name, row in named_rows:
        yield from (f"{name}: {line}." for line in _group_lines(row))
    if any(row.building for row in rows):
        yield "Runs of `planbook build`: later tasks were played with knowledge from the earlier ones."


def _common_folder(names: Sequence[str]) -> str:
    """Return the innermost folder that contains all runs, or "" if only some of the names are absolute paths."""
    if len({Path(name).is_absolute() for name in names}) > 1:
        return ""
    return os.path.commonpath([Path(name).parent for name in names])


def _solved_cells(row: GroupRow) -> Iterator[str]:
    yield from (f"{row.tasks:,}", f"{row.solved:,}")
    yield f"{100 * row.solved / row.tasks:.1f}" if row.tasks else NO_FIGURE
    yield interval(*row.interval) if row.interval else NO_FIGURE
    yield from (str(row.broken), str(row.not_run))


def _cost_cells(row: GroupRow) -> Iterator[str]:
    yield from (format_number(mean, 3) for mean in (row.mean_actions, row.mean_error_steps))
    yield from (f"{row.model_calls:,}", f"{row.tokens:,}")
    yield from (format_money(row.money, NO_FIGURE), format_number(per_solved(row.model_calls, row.solved), 3))
    yield from (format_money(per_solved(row.money, row.solved), NO_FIGURE), format_number(row.seconds, 3))


def _group_lines(row: GroupRow) -> Iterator[str]:
    if row.without_costs:
        yield COSTS_MISSING.format(row.without_costs)
    if row.differ:
        yield f"the pooled runs differ in {listed(row.differ, MAX_SETTINGS)}"
    if row.share_mean is not None and row.share_sd is not None:
        yield f"over {len(row.runs)} runs, the mean share solved is {row.share_mean:.1%} ± {row.share_sd:.1%}"
