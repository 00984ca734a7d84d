"""What methods that search did, read from the store: rounds, plans that were revised, branches (Devil's Advocate)."""

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from pydantic import BaseModel

from planbook.figures.causes import UNPLAYED
from planbook.figures.methods.plays import Deeds, Play
from planbook.figures.methods.records import NOT_TRIED, Fate
from planbook.figures.statistics import Episodes, mean_of
from planbook.wording import fixed


class Search(BaseModel):
    """What ``--json`` has as ``search``. Means are over the episodes that were played, rates over all tasks.

    Actions count whether or not a rewind undid them (table 1 of Devil's Advocate). An episode that was solved was so
    in its last round.
    """

    mean_actions_first: float | None
    mean_actions_last: float | None
    """In the first and in the last round of each."""
    mean_revisions: float | None
    solved_by_round: tuple[int, ...]
    """How many were solved within one round, two, and so on."""
    success_by_round: tuple[float, ...]
    """Their share of all tasks."""
    branches: dict[Fate, int]
    """By what became of them; a remedy that was never needed is one, too."""
    remedies_tried: int
    """Branches that were not the first idea and were tried."""
    remedies_kept: int
    """Those of them that were kept to the end: what they saved was about to fail."""
    lasting: int
    """Actions that changed what no rewind brings back."""
    lasting_gone_behind: int
    """Those of them that a rewind went back behind all the same."""


def search(deeds: Deeds, episodes: Episodes) -> Search | None:
    """The figures of a run; None for one in which nothing was planned in rounds or tried in branches."""
    every = [(ending, deeds.play(entry.path)) for entry, ending in episodes]
    if not any(play.plans or play.branches for _, play in every):
        return None
    played = [play for ending, play in every if ending.outcome not in UNPLAYED]
    ends = Counter(rounds(play) for ending, play in every if ending.outcome.solved)
    solved = tuple(accumulate(ends[number] for number in range(1, max(map(rounds, played), default=1) + 1)))
    tried = [branch for _, play in every for branch in play.branches]
    remedies = [branch for branch in tried if branch.idea and branch.fate != NOT_TRIED]
    return Search(
        mean_actions_first=mean_of(play.actions[0] for play in played),
        mean_actions_last=mean_of(play.actions[rounds(play) - 1] for play in played),
        mean_revisions=mean_of(sum(plan.revision for plan in play.plans) for play in played),
        solved_by_round=solved,
        success_by_round=tuple(count / len(episodes) for count in solved),
        branches=dict(Counter(branch.fate for branch in tried).most_common()),
        remedies_tried=len(remedies),
        remedies_kept=sum(branch.fate == "kept" for branch in remedies),
        lasting=sum(play.lasting for _, play in every),
        lasting_gone_behind=sum(play.lasting_gone_behind for _, play in every),
    )


def rounds(play: Play) -> int:
    """How many there were, by what was recorded of them; at least one."""
    return 1 + max((*(plan.round for plan in play.plans), *(branch.round for branch in play.branches)), default=0)


def search_lines(figures: Search) -> Iterable[str]:
    """Rounds, then branches, then what could not be taken back."""
    within = ", ".join(f"{number} {share:.1%}" for number, share in enumerate(figures.success_by_round, 1))
    yield (
        f"Actions a task: {fixed(figures.mean_actions_first, 2)} in its first round and "
        f"{fixed(figures.mean_actions_last, 2)} in its last; plans revised {fixed(figures.mean_revisions, 2)} times. "
        f"Solved within so many rounds: {within}."
    )
    if figures.branches:
        fates = ", ".join(f"{fate} {count}" for fate, count in figures.branches.items())
        saved = f"of the ideas after a first one {figures.remedies_tried} were tried and {figures.remedies_kept} kept"
        yield f"Branches: {fates}; {saved}."
    if figures.lasting:
        yield (
            f"Actions that changed what no rewind brings back: {figures.lasting}; gone back behind all the same: "
            f"{figures.lasting_gone_behind}."
        )
