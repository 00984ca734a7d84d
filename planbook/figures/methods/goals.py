"""What DEPS and its kin did, read from the store: rounds of planning, and goals tried."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import mean

from pydantic import BaseModel

from planbook.figures.methods.plays import Deeds
from planbook.figures.methods.records import Goal
from planbook.figures.statistics import Episodes

MOST_REASONS, TOLD_REASONS, LONGEST_REASON = 20, 3, 200
"""How many reasons are counted, how many the terminal tells, and their characters."""


class Pursuit(BaseModel):
    """What ``--json`` has as ``goals``. Means are over the episodes in which a goal was tried; rounds count from 0."""

    mean_rounds: float
    most_rounds: int
    rounds: dict[int, int]
    """Episodes by how often they planned anew."""
    solved_by_rounds: dict[int, int]
    """Those of them that were solved."""
    tried: int
    done: int
    failed: int
    mapped: int
    """Lines of plans that were no valid calls and were taken for the nearest known goal."""
    selectors: tuple[str, ...]
    reasons: dict[str, int]
    """Why goals failed, in the first sentence that was said of it: the most frequent ones, the first of them first."""


def pursuit(deeds: Deeds, episodes: Episodes) -> Pursuit | None:
    """The figures of a run; None for one in which no goal was tried."""
    tried = [(ending, deeds.play(entry.path).goals) for entry, ending in episodes]
    begun = [(ending, goals) for ending, goals in tried if goals]
    if not begun:
        return None
    every = [goal for _, goals in begun for goal in goals]
    last = [(rounds(goals), ending.outcome.solved) for ending, goals in begun]
    return Pursuit(
        mean_rounds=round(mean(number for number, _ in last), 2),
        most_rounds=max(number for number, _ in last),
        rounds=dict(sorted(Counter(number for number, _ in last).items())),
        solved_by_rounds=dict(sorted(Counter(number for number, solved in last if solved).items())),
        tried=len(every),
        done=sum(goal.done for goal in every),
        failed=sum(not goal.done for goal in every),
        mapped=sum(bool(goal.said) for goal in every),
        selectors=tuple(sorted({goal.selector for goal in every if goal.selector})),
        reasons=dict(Counter(_sentence(goal.reason) for goal in every if not goal.done).most_common(MOST_REASONS)),
    )


def _sentence(reason: str) -> str:
    """What else was said there is about the moment, such as the inventory."""
    return reason.partition(". ")[0].partition("\n")[0][:LONGEST_REASON]


def rounds(goals: Sequence[Goal]) -> int:
    """How often it was planned anew: a failed goal ends a plan, so that whatever comes after it is of a new one."""
    recorded = [goal.round for goal in goals if goal.round is not None]
    return max(recorded, default=sum(not goal.done for goal in goals[:-1]))


def pursuit_lines(figures: Pursuit) -> Iterable[str]:
    """Rounds, and goals."""
    chosen = f"; chosen by {', '.join(figures.selectors)}" if figures.selectors else ""
    mapped = f"; {figures.mapped} were lines that had to be mapped to a known goal" if figures.mapped else ""
    yield (
        f"Planned anew {figures.mean_rounds:.1f} times a task, {figures.most_rounds} at most; "
        f"goals tried {figures.tried}, done {figures.done}, failed {figures.failed}{chosen}{mapped}."
    )
    told = [f"{reason} ({count})" for reason, count in list(figures.reasons.items())[:TOLD_REASONS]]
    if told:
        yield f"Why goals failed: {'; '.join(told)}."
