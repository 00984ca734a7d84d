"""Figures of methods that search: rounds, revised plans and branches (Devil's Advocate)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple, Self

from planbook.planner.strategies.advocate.tree import NOT_TRIED, BranchTried, Fate, PlanMade
from planbook.planner.strategies.base import Figures, Played, mean_of, told
from planbook.planner.types import Ending


class SearchFigures(Figures):
    """The figures under ``search`` in ``--json``. Means are over played episodes, rates over all tasks.

    Actions count whether or not a rewind undid them (Devil's Advocate, table 1). A solved episode was solved in its
    last round.
    """

    key = "search"

    mean_actions_first: float | None
    mean_actions_last: float | None
    """Mean actions in the first and in the last round."""
    mean_revisions: float | None
    solved_by_round: tuple[int, ...]
    """Number of tasks solved within one round, two, and so on."""
    success_by_round: tuple[float, ...]
    """The same as a share of all tasks."""
    branches: dict[Fate, int]
    """Branches by fate, remedies that were never needed included."""
    remedies_tried: int
    """Branches that were tried and were not the first idea."""
    remedies_kept: int
    """Those of them that were kept to the end."""
    lasting: int
    """Actions that changed something no rewind restores."""
    lasting_gone_behind: int
    """Those of them that a rewind nevertheless went back behind."""

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run; None if nothing was planned in rounds or tried in branches."""
        every = [Searched(each.ending, each.held(PlanMade), each.held(BranchTried)) for each in episodes]
        if not any(each.plans or each.branches for each in every):
            return None
        played = [each for each in every if each.ending.outcome.played]
        ends = Counter(each.rounds for each in every if each.ending.outcome.solved)
        most = max((each.rounds for each in played), default=1)
        solved = tuple(accumulate(ends[number] for number in range(1, most + 1)))
        tried = [branch for each in every for branch in each.branches]
        plans = [plan for each in every for plan in each.plans]
        remedies = [branch for branch in tried if branch.idea and branch.fate != NOT_TRIED]
        return cls(
            mean_actions_first=mean_of(each.actions(0) for each in played),
            mean_actions_last=mean_of(each.actions(each.rounds - 1) for each in played),
            mean_revisions=mean_of(sum(plan.revision for plan in each.plans) for each in played),
            solved_by_round=solved,
            success_by_round=tuple(count / len(episodes) for count in solved),
            branches=dict(Counter(branch.fate for branch in tried).most_common()),
            remedies_tried=len(remedies),
            remedies_kept=sum(branch.fate == "kept" for branch in remedies),
            lasting=sum(plan.lasting for plan in plans),
            lasting_gone_behind=sum(plan.lasting_gone_behind for plan in plans),
        )

    def tell(self) -> Iterable[str]:
        """Return rounds, then branches, then what could not be undone."""
        within = ", ".join(f"{number}: {share:.1%}" for number, share in enumerate(self.success_by_round, 1))
        yield (
            f"Actions per task: {told(self.mean_actions_first, 2)} in the first round and "
            f"{told(self.mean_actions_last, 2)} in the last; plans revised {told(self.mean_revisions, 2)} times. "
            f"Solved within N rounds: {within}."
        )
        if self.branches:
            fates = ", ".join(f"{fate} {count}" for fate, count in self.branches.items())
            saved = f"remedies tried {self.remedies_tried}, kept {self.remedies_kept}"
            yield f"Branches: {fates}; {saved}."
        if self.lasting:
            yield (
                f"Actions whose effects a rewind cannot undo: {self.lasting}; rewound past all the same: "
                f"{self.lasting_gone_behind}."
            )


class Searched(NamedTuple):
    """One episode by its rounds."""

    ending: Ending
    plans: Sequence[PlanMade]
    branches: Sequence[BranchTried]

    @property
    def rounds(self) -> int:
        """Return the number of recorded rounds, at least one."""
        return 1 + max((*(plan.round for plan in self.plans), *(branch.round for branch in self.branches)), default=0)

    def actions(self, number: int) -> int:
        """Return the counted actions of a round."""
        return sum(plan.actions for plan in self.plans if plan.round == number)
