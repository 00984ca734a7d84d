"""Any number of runs as rows of a table: each by itself, or grouped by their settings."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev

from pydantic import BaseModel, ConfigDict

from planbook.compare.gathering import Gathered, Played
from planbook.compare.settings import setting
from planbook.planner import Outcome, Spent
from planbook.planner.strategies.base import mean_of
from planbook.results.statistics import wilson


class PerSolved(BaseModel):
    """What each task solved cost, with all else that was spent; None where none was solved."""

    model_config = ConfigDict(frozen=True)

    calls: float | None
    tokens: float | None
    money: float | None
    """US dollars; None, too, where a price is unknown."""
    actions: float | None
    seconds: float | None


class Row(BaseModel):
    """A run, or a group of them; counts are over all episodes of all its runs. ``seconds`` are those of its episodes.

    ``calls``, ``tokens`` and ``money`` are all that the runs spent themselves, on learning too; episodes that a run has
    copied from another cost that one.

    ``share`` is of all tasks, what was broken or not run included, with Wilson's interval; ``share_mean`` and
    ``share_sd`` are over the runs, where there are several. ``once`` and ``every_time`` count the tasks that were
    played several times (``several``), whether as repeats or in several runs.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    runs: tuple[str, ...]
    building: bool
    """Whether it has building runs, whose later tasks are played with more than the earlier ones."""
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
    share_mean: float | None
    share_sd: float | None
    several: int
    once: int
    """Of those played several times: solved at least once."""
    every_time: int


def rows(runs: Sequence[Gathered], by: Sequence[str] = ()) -> tuple[Row, ...]:
    """One for each run; or one for each combination of the settings that they are grouped by."""
    if not by:
        return tuple(_row(run.folder, [run]) for run in runs)
    groups = defaultdict[str, list[Gathered]](list)
    for run in runs:
        groups[", ".join(f"{name}={setting(run.config, name)}" for name in by)].append(run)
    return tuple(_row(name, each) for name, each in groups.items())


def _row(name: str, runs: Sequence[Gathered]) -> Row:
    episodes = [played for run in runs for played in run.episodes]
    endings = [played.ending for played in episodes]
    solved = _solved(episodes)
    low, high = wilson(solved, len(episodes))
    begun = [ending for ending in endings if ending.outcome is not Outcome.NOT_RUN]
    shares = [_solved(run.episodes) / len(run.episodes) for run in runs if run.episodes]
    counts = _several(episodes)
    spent = sum((run.spent for run in runs), Spent())
    money = None if spent.money is None else round(spent.money, 6)
    return Row(
        name=name,
        runs=tuple(run.folder for run in runs),
        building=any(run.builds for run in runs),
        tasks=len(episodes),
        solved=solved,
        share=solved / len(episodes) if episodes else 0.0,
        low=low,
        high=high,
        broken=sum(ending.outcome is Outcome.BROKEN for ending in endings),
        not_run=len(endings) - len(begun),
        left_out=sum(run.left_out for run in runs),
        mean_actions=mean_of(ending.actions for ending in begun),
        mean_error_steps=mean_of(ending.error_steps for ending in begun),
        calls=spent.calls,
        tokens=spent.tokens,
        money=money,
        seconds=round(spent.seconds, 3),
        per_solved=PerSolved(
            calls=_each(spent.calls, solved),
            tokens=_each(spent.tokens, solved),
            money=_each(money, solved),
            actions=_each(spent.actions, solved),
            seconds=_each(spent.seconds, solved),
        ),
        share_mean=fmean(shares) if len(shares) > 1 else None,
        share_sd=stdev(shares) if len(shares) > 1 else None,
        several=len(counts),
        once=sum(any(each) for each in counts),
        every_time=sum(all(each) for each in counts),
    )


def _solved(episodes: Iterable[Played]) -> int:
    return sum(played.ending.outcome.solved for played in episodes)


def _each(amount: float | None, solved: int) -> float | None:
    return round(amount / solved, 6) if solved and amount is not None else None


def _several(episodes: Iterable[Played]) -> list[list[bool]]:
    """How the episodes of each task went that was played more than once."""
    found = defaultdict[tuple[str, str, int], list[bool]](list)
    for played in episodes:
        task = played.entry.task
        found[task.env, task.id, task.seed].append(played.ending.outcome.solved)
    return [each for each in found.values() if len(each) > 1]
