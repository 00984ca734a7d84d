"""The search tree of a round, and the statistics of a run.

A round is one attempt at the task with one plan. The nodes of its tree are states of the search, which are situations
that the environment was in. Each branch is a piece of code that leads from one state to the next. The tree records what
became of each branch (its fate): for example, whether it was kept, failed or was undone.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, PrivateAttr

from planbook.planner.frames import Mark
from planbook.planner.journal import Payload, Span
from planbook.planner.scope import Scope
from planbook.planner.strategies.base import Figures, PlayedEpisode, format_figure, mean_of
from planbook.planner.types import Ending, Thought

Fate = Literal["", "kept", "turned back", "failed", "over", "not tried", "abandoned"]
"""What became of a branch. It is empty while the branch is being tried.

- ``kept``: the branch fits its subtask.
- ``abandoned``: the branch was kept at first, but undone later by a return to an earlier state.
- ``turned back``: the branch does not fit its subtask, or repeats another sample, and was undone.
- ``failed``: the code of the branch ended with an error, or could not be adapted to a changed page.
- ``over``: the episode or the round ended while the code was running.
- ``not tried``: the branch was never needed.
"""
NOT_TRIED: Fate = "not tried"
UNDONE = " (undone later)"
UNDONE_IN_PART = " (undone later, except for what it stored permanently)"
"""In prompts, one of these notes follows the effect of a branch that was undone."""


class PlanMade(Payload):
    """A round and its plan. The fields from ``actions`` on are filled in at the end of the round."""

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
    """The environment's verdict at the end of the round, which models never see. None in old runs."""

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
    """The code that was run first, if it had been adapted to a changed page. Otherwise empty."""
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
        first, _, more = (self.mapped or self.code).strip().partition("\n")
        start = "" if self.parent is None else f", after {self.parent}"
        return f"{self.number}{start}: {first}{' ...' if more else ''}"

    @property
    def status(self) -> str:
        """The fate of the branch."""
        return self.fate


class Branch(BranchTried):
    """A branch during the search. Its fields change until the round ends."""

    model_config = ConfigDict(frozen=False)

    fate: Fate = NOT_TRIED
    thought: Thought = Field(default=Thought(), exclude=True)
    _span: Span[BranchTried] | None = PrivateAttr(default=None)
    """The span that records the branch. It begins when the code is first run."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def span_fields(self) -> dict[str, Any]:
        """The fields of the branch that its span records."""
        return {name: getattr(self, name) for name in BranchTried.model_fields}

    @property
    def summary(self) -> str:
        """The effect of the branch, as the evaluator describes it. Without a description: the code, and ``why``."""
        if self.history:
            return self.history
        code, _, more = self.code.strip().partition("\n")
        reason, _, _ = self.why.partition("\n")
        return f"{code}{' ...' if more else ''} -> {reason or 'no reason was given'}"


@dataclass(eq=False)
class SearchState:
    """A state of the search in a round: a situation that the environment was in, and the branches that led to it."""

    page: str
    """The observation in this state."""
    report: str
    """The text for prompts: what the last branch did, the observation, and the environment's state."""
    scene: str
    """The environment's description of the scene."""
    subtask: int = 0
    """Index of the current subtask in the plan."""
    branch: Branch | None = None
    """The last branch that led to this state, or None at the start of the round."""
    depth: int = 0
    """Number of branches from the start of the round to this state."""
    mark: Mark | None = None
    """The checkpoint of environment and namespace with which the search can return to this state, if there is one."""
    actions: tuple[str, ...] = ()
    """The actions of the last branch."""
    written_for: str = ""
    """The observation for which code was proposed in this state. After a return to the state, ``page`` may differ."""

    def update_page(self, page: str, report: str, scene: str) -> None:
        """Replace the observation, the report and the scene if the observation has changed since the first visit."""
        if page != self.page:
            self.page, self.report, self.scene = page, report, scene


class Tree:
    """All branches of a round, and the spans that record them.

    The span of a branch begins when its code is first run, and ends when the span of the next branch begins. If the
    branch changes later, its span is updated. Branches that were never needed are recorded at the end of the round.
    """

    def __init__(self, scope: Scope, number: int) -> None:
        self._scope, self._number = scope, number
        self.branches: list[Branch] = []
        self.tried: list[Branch] = []
        """The branches whose code was run, in order of the first run."""
        self.path: list[Branch] = []
        """The branches that led to the current state."""

    def add_branch(self, state: SearchState, subtask: str, idea: int, code: str, thought: Thought) -> Branch:
        """Add a branch for code that was proposed for a state, and return it."""
        state.written_for = state.page
        parent = state.branch.number if state.branch else None
        fields = {"parent": parent, "subtask": subtask, "idea": idea, "code": code, "thought": thought}
        self.branches.append(Branch(round=self._number, number=len(self.branches), **fields))
        return self.branches[-1]

    def keep(self, branch: Branch) -> None:
        """Accept a branch, and add it at the end of the path to the current state."""
        branch.fate = "kept"
        self.path.append(branch)
        self.record_changes()

    def return_to(self, state: SearchState) -> None:
        """Return to a state on the path. The branches after this state are abandoned and removed from the path."""
        for branch in self.path[state.depth :]:
            branch.fate = "abandoned"
        del self.path[state.depth :]
        self.record_changes()

    def begin(self, branch: Branch, cell: int | None) -> None:
        """Begin the span of a branch whose code is about to be run for the first time, as the cell with this number."""
        self.record_changes()
        if self.tried and (last := self.tried[-1]._span):
            last.end()
        branch.cell = cell
        self.tried.append(branch)
        branch._span = self._scope.span(BranchTried(**branch.span_fields | {"fate": ""}))

    def effects(self, *, current_path_only: bool = False) -> Sequence[str]:
        """Return a sentence on the effect of each branch that was tried, in order.

        With ``current_path_only``, branches that were undone are left out.
        """
        effects: list[str] = []
        for branch in self.tried:
            if branch in self.path or (branch.fate == "over" and not current_path_only):
                effects.append(branch.summary)
            elif branch.fate != NOT_TRIED and not current_path_only:
                effects.append(f"{branch.summary}{UNDONE_IN_PART if branch.lasting else UNDONE}")
        return effects

    def record_changes(self) -> None:
        """Update the spans of the branches that were tried."""
        for branch in self.tried:
            if branch._span is not None and branch.fate != NOT_TRIED:
                branch._span.update(**branch.span_fields)

    def end(self) -> None:
        """Record the fate of every branch at the end of the round."""
        for branch in self.branches:
            if branch._span is None:
                self._scope.record_instant(BranchTried(**branch.span_fields))
            else:
                branch._span.end(**branch.span_fields)


class SearchFigures(Figures):
    """The figures under ``search`` in ``--json``.

    Means are taken over the episodes that were played, and shares over all episodes. Actions that were undone count.
    """

    key = "search"

    mean_actions_first: float | None
    """Mean number of actions in the first round of an episode."""
    mean_actions_last: float | None
    """Mean number of actions in the last round of an episode."""
    mean_revisions: float | None
    """Mean number of revised plans in an episode."""
    solved_by_round: tuple[int, ...]
    """The number of tasks that would count as solved if each had at most one round, then two rounds, and so on.

    This number can fall, since the last round counts.
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
        solved = tuple(sum(search.solved_within(most) for search in searches) for most in range(1, max_rounds + 1))
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
        """Return a sentence on the rounds, and one on the branches."""
        within = ", ".join(f"{number}: {share:.1%}" for number, share in enumerate(self.success_by_round, 1))
        yield (
            f"Actions per task: {format_figure(self.mean_actions_first)} in the first round and "
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
        """Return whether the task would count as solved if the episode had at most this number of rounds."""
        if rounds >= self.rounds:
            return self.ending.outcome.solved
        return any(plan.solved for plan in self.plans if plan.round == rounds - 1)

    def actions(self, number: int) -> int:
        """Return the number of counted actions of a round."""
        return sum(plan.actions for plan in self.plans if plan.round == number)
