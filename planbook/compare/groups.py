"""Rows of a table for any number of runs, each by itself or grouped by settings."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from pydantic import BaseModel, Field

from planbook.compare.differences import KNOWLEDGE, SEEDS, in_short, setting, settings_without
from planbook.planner import Outcome, Spent
from planbook.results.learning_cost import LearningPayoff
from planbook.results.statistics import per_solved
from planbook.results.summary import by_task, mean_actions, mean_errors, solved_interval
from planbook.results.table import RunResults


class PerSolved(BaseModel):
    """Costs of the runs for each solved task; None if none was solved."""

    calls: float | None
    tokens: float | None
    money: float | None
    """US dollars; also None if a price is unknown."""
    actions: float | None
    seconds: float | None


class GroupRow(BaseModel):
    """A run or a group of runs; counts are over all episodes of all runs. ``seconds`` are those of the episodes.

    ``calls``, ``tokens`` and ``money`` are the whole spending of the runs, including learning; copied episodes cost
    nothing.

    ``share`` is the solved share of all tasks, including broken and not run ones, with the interval from ``low`` to
    ``high``; ``share_mean`` and ``share_sd`` are over the runs, if there are several. ``several`` counts the tasks that
    were played several times, as repeats or in several runs; ``once`` counts those of them that were solved at least
    once, ``every_time`` those solved each time.
    """

    name: str
    runs: tuple[str, ...]
    differ: tuple[str, ...] = ()
    """Settings in which the runs of the group differ, apart from seeds."""
    building: bool
    """True if there are building runs, whose later tasks are played with more knowledge."""
    tasks: int
    solved: int
    share: float
    low: float
    high: float
    broken: int
    not_run: int
    left_out: int
    """Building tasks that were left out on purpose; ``tasks`` does not count them."""
    mean_actions: float | None
    mean_error_steps: float | None
    calls: int
    tokens: int
    money: float | None
    seconds: float
    per_solved: PerSolved
    paying: LearningPayoff | None = Field(
        default=None, exclude_if=lambda paying: paying is None or not paying.has_learned
    )
    """The cost of a solved task with learning included; None if the cost of learning is not known."""
    share_mean: float | None
    share_sd: float | None
    several: int
    once: int
    every_time: int


def group_rows(runs: Sequence[RunResults], by: Sequence[str] = ()) -> tuple[GroupRow, ...]:
    """Return a row for each run; with names of settings in ``by``, for each group of runs that have the same values."""
    groups = defaultdict[str, list[RunResults]](list)
    for run in runs:
        groups[", ".join(f"{name}={in_short(setting(run.run.config, name))}" for name in by) or run.name].append(run)
    paying = paying_by_group(groups)
    return tuple(_group_row(name, members, paying[name]) for name, members in groups.items())


def paying_by_group(groups: Mapping[str, Sequence[RunResults]]) -> dict[str, LearningPayoff | None]:
    """Return the cost of a solved task, including learning, in each group.

    It is compared with the first group that learned nothing and has the same settings apart from knowledge and seeds.
    Building groups are not compared, nor are groups whose runs differ in other settings.
    """
    costs = {name: _paying(runs) for name, runs in groups.items()}
    common = {name: settings_without(runs, (*SEEDS, *KNOWLEDGE)) for name, runs in groups.items()}
    without = {common[name]: name for name, paying in reversed(costs.items()) if paying and not paying.has_learned}
    for name, paying in costs.items():
        building = any(run.builds for run in groups[name])  # its tasks differ
        baseline = without.get(common[name], "") if len(common[name]) == 1 else ""
        if paying and not building and (other := costs.get(baseline)):
            costs[name] = paying.compared_with(baseline, other)
    return costs


def _differing(runs: Sequence[RunResults]) -> tuple[str, ...]:
    """Return the names of the settings in which runs differ, apart from seeds."""
    distinct = [dict(pairs) for pairs in settings_without(runs, SEEDS)]
    names = {name for values in distinct for name in values}
    return tuple(name for name in sorted(names) if len({values.get(name) for values in distinct}) > 1)


def _paying(runs: Sequence[RunResults]) -> LearningPayoff | None:
    """Return the cost of a solved task in several runs; None if it is unknown for one of them.

    Each building run behind them counts once, at the highest cost that it has for any of them. If a building run is
    itself in the group, its episodes count as playing.
    """
    known = [paying for run in runs if (paying := run.paying())]
    if len(known) < len(runs):
        return None
    behind = (pair for run in runs for pair in (run.learning_behind or {}).items())
    learned = dict(sorted(behind, key=lambda pair: pair[1].tokens))
    learned |= {run.run.folder.resolve(): run.outside_cost for run in runs}
    playing = Spent(calls=sum(paying.calls for paying in known), prompt=sum(paying.tokens for paying in known))
    return LearningPayoff.of(sum(paying.solved for paying in known), playing, sum(learned.values(), Spent()))


def _group_row(name: str, runs: Sequence[RunResults], paying: LearningPayoff | None) -> GroupRow:
    rows = [row for run in runs for row in run.counted]
    solved = sum(row.solved for row in rows)
    low, high = solved_interval(rows)
    shares = [fmean(row.solved for row in run.counted) for run in runs if run.counted]
    repeated = [episodes for episodes in by_task(rows) if sum(row.outcome.played for row in episodes) > 1]
    spent = sum((run.cost for run in runs), Spent())
    seconds = sum(row.seconds for run in runs for row in run.episodes.values() if not row.copied)
    money = None if spent.money is None else round(spent.money, 6)
    costs = {"calls": spent.calls, "tokens": spent.tokens, "actions": spent.actions, "money": money, "seconds": seconds}
    return GroupRow(
        name=name,
        runs=tuple(run.name for run in runs),
        differ=_differing(runs),
        building=any(run.builds for run in runs),
        tasks=len(rows),
        solved=solved,
        share=solved / len(rows) if rows else 0.0,
        low=low,
        high=high,
        broken=sum(row.outcome is Outcome.BROKEN for row in rows),
        not_run=sum(row.outcome is Outcome.NOT_RUN for row in rows),
        left_out=sum(run.skipped for run in runs),
        mean_actions=mean_actions(rows),
        mean_error_steps=mean_errors(rows),
        calls=spent.calls,
        tokens=spent.tokens,
        money=money,
        seconds=round(seconds, 3),
        per_solved=PerSolved(**{name: per_solved(amount, solved) for name, amount in costs.items()}),
        paying=paying,
        share_mean=fmean(shares) if len(shares) > 1 else None,
        share_sd=stdev(shares) if len(shares) > 1 else None,
        several=len(repeated),
        once=sum(any(row.solved for row in episodes) for episodes in repeated),
        every_time=sum(all(row.solved for row in episodes) for episodes in repeated),
    )
