"""The search tree of a round, and the statistics of a run.

A round is one attempt at the task with one plan. A node of its tree is a piece of code, and the state of the
environment to which the code leads. The code of a node is also called a branch. Its fate says what became of it, such
as ``kept`` or ``failed``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

from planbook.planner.frames import Mark
from planbook.planner.journal import Payload, Span
from planbook.planner.strategies.figures import Figures, PlayedEpisode, format_figure, mean_of
from planbook.planner.types import Ending, Thought

Fate = Literal["", "kept", "turned back", "failed", "over", "not tried", "abandoned"]
"""The fate of a branch. It is empty while the branch is being tried.

- ``kept``: the branch fits its subtask.
- ``abandoned``: the branch was kept at first, but undone later by a return to an earlier state.
- ``turned back``: the branch does not fit its subtask, or repeats another sample, and was undone.
- ``failed``: the code of the branch ended with an error, or could not be adapted to a changed page.
- ``over``: the episode or the round ended while the code was running.
- ``not tried``: the branch was never needed.
"""
UNDONE = " (undone later)"
UNDONE_IN_PART = " (undone later, except for what it stored permanently)"
"""In prompts, one of these notes follows the effect of a branch that was undone."""


class PlanMade(Payload):
    """A round and its plan. The fields from ``actions`` on are set at the end of the round."""

    span = "plan"

    round: int
    """Number of the round, from 0."""
    parts: tuple[str, ...]
    """The subtasks of the plan."""
    revision: bool = False
    """True for every plan but the first one of an episode."""
    why: str = ""
    """The planner's review of the earlier rounds."""
    actions: int = 0
    """Number of actions of the round, including those that were undone, but without the answer."""
    solved: bool | None = None
    """The environment's verdict at the end of the round, hidden from models. None in old runs."""

    @property
    def title(self) -> str:
        """The number of the round and the subtasks of its plan."""
        return f"round {self.round + 1}: {'; '.join(self.parts)}"


class BranchTried(Payload):
    """A branch: code that was proposed for a certain state of the search."""

    span = "branch"

    round: int
    number: int
    """Number of the branch in its round, from 0."""
    parent: int | None = None
    """Number of the branch that led to the state for which this code was proposed. None at the start of the round."""
    subtask: str
    idea: int = 0
    """0 for the first proposal. Higher numbers are alternatives: remedies in Devil's Advocate, samples in LATS."""
    code: str
    cell: int | None = None
    """Number of the cell in which the code was first run, among the cells of the same frame (namespace)."""
    mapped: str = ""
    """The code that was run first, if it was adapted to a changed page. Otherwise empty."""
    fate: Fate
    why: str = ""
    """The reason for the fate of the branch."""
    history: str = ""
    """The effect of the branch in one sentence, as the evaluator describes it."""
    actions: int = 0
    lasting: bool = False
    """True if the branch had an effect that cannot be undone."""
    value: float | None = None
    """Mean value of the samples that were run for this branch and for the branches after it (LATS)."""
    visits: int | None = None
    """Number of these samples, without duplicates (LATS)."""

    @property
    def title(self) -> str:
        """The number of the branch and of its parent, and the first line of its code."""
        first_line, _, other_lines = (self.mapped or self.code).strip().partition("\n")
        parent = "" if self.parent is None else f", after {self.parent}"
        return f"{self.number}{parent}: {first_line}{' ...' if other_lines else ''}"

    @property
    def status(self) -> str:
        """The fate of the branch."""
        return self.fate

    @property
    def effect(self) -> str:
        """The effect as the evaluator describes it or, without a description, the code and ``why``.

        If the branch was undone, a note says so.
        """
        first_line, _, other_lines = self.code.strip().partition("\n")
        reason, _, _ = self.why.partition("\n")
        code = f"{first_line}{' ...' if other_lines else ''}"
        effect = self.history or f"{code} -> {reason or 'no reason was given'}"
        if self.fate in ("kept", "over"):
            return effect
        return f"{effect}{UNDONE_IN_PART if self.lasting else UNDONE}"


@dataclass(eq=False)
class Node:
    """A node of the tree: code that was proposed in the state of the parent, and the state to which the code leads.

    The root is the state at the start of the round. Its branch has no code and is not recorded.
    """

    branch: BranchTried
    """The record of the code, as far as it is known."""
    parent: "Node | None" = None
    thought: Thought = field(default_factory=Thought)
    span: Span[BranchTried] | None = None
    """The span that records the branch. It begins when the code is first run."""
    children: list["Node"] = field(default_factory=list)
    page: str = ""
    """The observation in this state."""
    report: str = ""
    """The text for prompts: the effects of the code, the observation, and the environment's state."""
    scene: str = ""
    """The environment's description of the scene."""
    subtask: int = 0
    """Index of the current subtask in the plan."""
    mark: Mark | None = None
    """The checkpoint of environment and namespace with which the search can return to this state, if there is one."""
    actions: tuple[str, ...] = ()
    """The actions of the code if it ran without an error."""
    written_for: str = ""
    """The observation for which the children's code was written. ``page`` may differ after a return to the state."""
    visits: int = 0
    """Number of samples that were run for this node and for the nodes below it, without duplicates (LATS)."""
    total: float = 0.0
    """Sum of the values of these samples. A value is between 0 and 1, and 0 for a failed sample."""
    closed: bool = False
    """True if nothing is left to try from this node on (LATS)."""

    @property
    def code(self) -> str:
        """The code as it was run first."""
        return self.branch.mapped or self.branch.code

    @property
    def path(self) -> list["Node"]:
        """The nodes from the root to this one."""
        return [*(self.parent.path if self.parent else []), self]

    def change(self, **changes: object) -> None:
        """Change fields of the branch. They are recorded later (see ``SearchRound``)."""
        self.branch = self.branch.model_copy(update=changes)

    def update_page(self, page: str, report: str, scene: str) -> None:
        """Set the observation, the report and the scene at the first visit, or if the observation has changed since."""
        if page != self.page or not self.report:
            self.page, self.report, self.scene = page, report, scene


class SearchFigures(Figures):
    """The figures under ``search`` in ``--json``.

    Means are taken over the episodes that were played, and shares over all episodes. Undone actions are included, the
    answer is not.
    """

    key = "search"

    mean_actions_first: float | None
    """Mean number of actions in the first round of an episode."""
    mean_actions_last: float | None
    """Mean number of actions in the last round of an episode."""
    mean_revisions: float | None
    """Mean number of revised plans in an episode."""
    solved_by_round: tuple[int, ...]
    """Numbers of tasks that would count as solved with at most one round each, with at most two, and so on.

    The numbers can decrease, since only the last round counts.
    """
    success_by_round: tuple[float, ...]
    """``solved_by_round``, divided by the number of all tasks."""
    branches: dict[Fate, int]
    """Maps each fate to the number of branches with this fate, including remedies that were never needed."""

    @classmethod
    def count(cls, episodes: Sequence[PlayedEpisode]) -> Self | None:
        """Compute the figures of a run. Return None if it has neither rounds nor branches."""
        searches = [
            SearchRecord(episode.ending, episode.payloads(PlanMade), episode.payloads(BranchTried))
            for episode in episodes
        ]
        if not any(search.plans or search.branches for search in searches):
            return None
        played = [search for search in searches if search.ending.outcome.played]
        max_rounds = max((search.rounds for search in played), default=1)
        solved = tuple(sum(search.solved_within(limit) for search in searches) for limit in range(1, max_rounds + 1))
        branches = [branch for search in searches for branch in search.branches]
        return cls(
            mean_actions_first=mean_of(search.actions(0) for search in played),
            mean_actions_last=mean_of(search.actions(search.rounds - 1) for search in played),
            mean_revisions=mean_of(sum(plan.revision for plan in search.plans) for search in played),
            solved_by_round=solved,
            success_by_round=tuple(count / len(episodes) for count in solved),
            branches=dict(Counter(branch.fate for branch in branches).most_common()),
        )

    def describe(self) -> Iterable[str]:
        """Yield a sentence on the rounds and, if there are branches, one on them."""
        within = ", ".join(f"{number}: {share:.1%}" for number, share in enumerate(self.success_by_round, 1))
        yield (
            f"Actions per task, without the answer: {format_figure(self.mean_actions_first)} in the first round and "
            f"{format_figure(self.mean_actions_last)} in the last; plans revised "
            f"{format_figure(self.mean_revisions)} times. Solved with at most N rounds: {within}."
        )
        if self.branches:
            fates = ", ".join(f"{fate} {count}" for fate, count in self.branches.items())
            yield f"Branches: {fates}."


class SearchRecord(NamedTuple):
    """The recorded plans and branches of one episode."""

    ending: Ending
    plans: Sequence[PlanMade]
    branches: Sequence[BranchTried]

    @property
    def rounds(self) -> int:
        """The number of recorded rounds. It is at least 1."""
        return 1 + max((*(plan.round for plan in self.plans), *(branch.round for branch in self.branches)), default=0)

    def solved_within(self, rounds: int) -> bool:
        """Return True if the task would count as solved with at most this number of rounds."""
        if rounds >= self.rounds:
            return self.ending.outcome.solved
        return any(plan.solved for plan in self.plans if plan.round == rounds - 1)

    def actions(self, number: int) -> int:
        """Return the number of actions in a round."""
        return sum(plan.actions for plan in self.plans if plan.round == number)
