"""Figures of DEPS and its baselines: rounds of planning, and goals tried."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Self

from planbook.planner.strategies.base import Figures, Played
from planbook.planner.strategies.deps.pursuit import GoalTried

MOST_REASONS, TOLD_REASONS, LONGEST_REASON = 20, 3, 200
"""Number of reasons counted, number shown in the terminal, and characters of each."""


class GoalFigures(Figures):
    """The figures under ``goals`` in ``--json``.

    Means are over episodes in which a goal was tried; rounds count from 0.
    """

    key = "goals"

    mean_rounds: float
    most_rounds: int
    rounds: dict[int, int]
    """Episodes by the number of times they replanned."""
    solved_by_rounds: dict[int, int]
    """Solved episodes by the number of times they replanned."""
    tried: int
    done: int
    failed: int
    mapped: int
    """Plan lines that were no valid calls and were mapped to the nearest known goal."""
    selectors: tuple[str, ...]
    reasons: dict[str, int]
    """Most frequent reasons why goals failed, each by its first sentence."""

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run; None if no goal was tried."""
        tried = [(played.ending, played.held(GoalTried)) for played in episodes]
        begun = [(ending, goals) for ending, goals in tried if goals]
        if not begun:
            return None
        every = [goal for _, goals in begun for goal in goals]
        last = [(rounds(goals), ending.outcome.solved) for ending, goals in begun]
        return cls(
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

    def tell(self) -> Iterable[str]:
        """Return the rounds and the goals."""
        chosen = f"; selector: {', '.join(self.selectors)}" if self.selectors else ""
        mapped = f"; lines mapped to a known goal: {self.mapped}" if self.mapped else ""
        yield (
            f"Replanned {self.mean_rounds:.1f} times per task, {self.most_rounds} at most; "
            f"goals tried {self.tried}, done {self.done}, failed {self.failed}{chosen}{mapped}."
        )
        told = [f"{reason} ({count})" for reason, count in list(self.reasons.items())[:TOLD_REASONS]]
        if told:
            yield f"Why goals failed: {'; '.join(told)}."


def _sentence(reason: str) -> str:
    """Return the first sentence; the rest is about the moment, such as the inventory."""
    return reason.partition(". ")[0].partition("\n")[0][:LONGEST_REASON]


def rounds(goals: Sequence[GoalTried]) -> int:
    """Return the number of times the episode replanned.

    A failed goal ends a plan, so what follows belongs to a new one.
    """
    recorded = [goal.round for goal in goals if goal.round is not None]
    return max(recorded, default=sum(not goal.done for goal in goals[:-1]))
