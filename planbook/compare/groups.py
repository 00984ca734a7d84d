"""Any number of runs as rows of a table: each by itself, or grouped by settings."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev

from pydantic import Field

from planbook.compare.differences import Compared, in_short, setting, settings
from planbook.planner import Outcome, Spent
from planbook.results import Paying, Result, RunResults, by_task, mean_actions, mean_errors, solved_interval


class PerSolved(Compared):
    """Costs of the runs for each task solved; None where none was solved."""

    calls: float | None
    tokens: float | None
    money: float | None
    """US dollars; None, too, where a price is unknown."""
    actions: float | None
    seconds: float | None


class GroupRow(Compared):
    """A run, or a group of them; counts are over all episodes of all its runs. ``seconds`` are those of its episodes.

    ``calls``, ``tokens`` and ``money`` are all that the runs spent themselves, on learning too; episodes that a run has
    copied from another cost that one.

    ``share`` is of all tasks, what was broken or not run included, with its interval; ``share_mean`` and
    ``share_sd`` are over the runs, where there are several. ``once`` and ``every_time`` count the tasks that were
    played several times (``several``), whether as repeats or in several runs.
    """

    name: str
    runs: tuple[str, ...]
    differ: tuple[str, ...] = ()
    """Settings in which the runs of the group differ, seeds left out."""
    building: bool
    """True if it has building runs, whose later tasks are played with more than the earlier ones."""
    tasks: int
    solved: int
    share: float
    low: float
    high: float
    broken: int
    not_run: int
    left_out: int
    """Building tasks that were left out on purpose; they are not among the tasks."""
    mean_actions: float | None
    mean_error_steps: float | None
    calls: int
    tokens: int
    money: float | None
    seconds: float
    per_solved: PerSolved
    paying: Paying | None = Field(default=None, exclude_if=lambda paying: paying is None or not paying.has_learned)
    """The cost of a solved task with learning included; None if what learning cost is not known."""
    share_mean: float | None
    share_sd: float | None
    several: int
    once: int
    """Of those played several times: solved at least once."""
    every_time: int


def group_rows(runs: Sequence[RunResults], by: Sequence[str] = ()) -> tuple[GroupRow, ...]:
    """Return a row for each run, or for each combination of the settings that they are grouped by."""
    groups = defaultdict[str, list[RunResults]](list)
    for run in runs:
        groups[", ".join(f"{name}={in_short(setting(run.run.config, name))}" for name in by) or run.name].append(run)
    paying = paying_beside(groups)
    return tuple(_group_row(name, each, paying[name]) for name, each in groups.items())


def paying_beside(groups: Mapping[str, Sequence[RunResults]]) -> dict[str, Paying | None]:
    """Return what a solved task cost in each group with learning included, beside the same model without knowledge.

    That is the first group of the same settings, library and seeds left out, that learned nothing. A group whose runs
    have several settings has none.
    """
    found = {name: _paying(runs) for name, runs in groups.items()}
    asked = {name: _settings_but(runs, (*SEEDS, *KNOWLEDGE)) for name, runs in groups.items()}
    without = {asked[name]: name for name, paying in reversed(found.items()) if paying and not paying.has_learned}
    for name, paying in found.items():
        building = any(run.builds for run in groups[name])  # its tasks are others
        beside = without.get(asked[name], "") if len(asked[name]) == 1 else ""
        if paying and paying.has_learned and not building and (other := found.get(beside)):
            found[name] = paying.compared_with(beside, other)
    return found


SEEDS = ("seed", "selection.seeds", "repeats")
"""Settings in which runs differ that try the same once more."""
KNOWLEDGE = ("library", "after", "rule_tokens")
"""Settings that say what a run has_learned."""


def _settings_but(runs: Sequence[RunResults], names: Sequence[str]) -> frozenset[tuple[tuple[str, str], ...]]:
    """Return the different settings of some runs, without those of these names."""
    return frozenset(
        tuple((name, value) for name, value in settings(run.run.config).items() if name not in names) for run in runs
    )


def _differing(runs: Sequence[RunResults]) -> tuple[str, ...]:
    """Return the settings in which runs differ, seeds left out."""
    each = [dict(every) for every in _settings_but(runs, SEEDS)]
    names = {name for known in each for name in known}
    return tuple(name for name in sorted(names) if len({known.get(name) for known in each}) > 1)


def _paying(runs: Sequence[RunResults]) -> Paying | None:
    """Return the cost of a solved task in several runs; of each library, the run that knew most of it counts."""
    each = [run.paying() for run in runs]
    known = [paying for paying in each if paying]
    if len(known) < len(each):
        return None
    behind = sorted(
        ((run.run.config.library, run.learning_behind or Spent()) for run in runs), key=lambda each: each[1].tokens
    )
    learned = dict(behind)
    outside = [run.outside_cost for run in runs]
    playing = Spent(calls=sum(paying.calls for paying in known), prompt=sum(paying.tokens for paying in known))
    return Paying.of(sum(paying.solved for paying in known), playing, sum([*learned.values(), *outside], Spent()))


def _group_row(name: str, runs: Sequence[RunResults], paying: Paying | None) -> GroupRow:
    rows = [row for run in runs for row in run.counted]
    solved = _solved(rows)
    low, high = solved_interval(rows)
    shares = [_solved(run.counted) / len(run.counted) for run in runs if run.counted]
    counts = [each for each in by_task(rows) if len(each) > 1]
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
        per_solved=PerSolved(**{name: _each(amount, solved) for name, amount in costs.items()}),
        paying=paying,
        share_mean=fmean(shares) if len(shares) > 1 else None,
        share_sd=stdev(shares) if len(shares) > 1 else None,
        several=len(counts),
        once=sum(any(each) for each in counts),
        every_time=sum(all(each) for each in counts),
    )


def _solved(rows: Iterable[Result]) -> int:
    return sum(row.solved for row in rows)


def _each(amount: float | None, solved: int) -> float | None:
    return round(amount / solved, 6) if solved and amount is not None else None
