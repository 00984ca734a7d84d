"""The tree of a round: branches of code, the moments they lead to, the fate of each branch, and the figures."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, PrivateAttr

from planbook.planner.frames import Mark
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, Span
from planbook.planner.strategies.base import Figures, Played, format_figure, mean_of
from planbook.planner.types import Ending, Thought

Fate = Literal["", "kept", "turned back", "failed", "over", "not tried", "abandoned"]
"""The fate of a branch; empty while it is being tried.

``kept``: it fits its subtask. ``abandoned``: kept at first, until a return to an earlier moment. ``turned back``: it
does not fit. ``failed``: its code ended in an error. ``over``: the episode or the round ended in it. ``not tried``: it
was never needed.
"""
NOT_TRIED: Fate = "not tried"
TAKEN_BACK = " (taken back since)"
LASTING = " (taken back since, but for what it stored for good)"


class PlanMade(Payload):
    """A round and its plan, a list of subtasks."""

    span = "plan"

    round: int
    """Number of the round, from 0."""
    parts: tuple[str, ...]
    revision: bool = False
    why: str = ""
    """The review of the history."""
    actions: int = 0
    """Number of counted actions of the round, undone ones included. Known at its end, like the fields below."""
    lasting: int = 0
    """Number of actions with an effect that no rewind undoes."""
    lasting_gone_behind: int = 0
    """Number of those actions that were nevertheless rewound."""

    @property
    def title(self) -> str:
        """The number of the round and the parts of its plan."""
        return f"round {self.round + 1}: {'; '.join(self.parts)}"


class BranchTried(Payload):
    """A branch: code in the state that its ``parent`` led to."""

    span = "branch"

    round: int
    number: int
    parent: int | None = None
    """None for the start of the round."""
    subtask: str
    idea: int = 0
    """0 for the first idea, 1 and higher for remedies."""
    code: str
    cell: int | None = None
    """Number of the cell that ran it, in its frame."""
    mapped: str = ""
    """The code of the first run, if it was adapted to a changed page."""
    again: tuple[str, ...] = ()
    """The code of each later run, when its path was repeated."""
    fate: Fate
    why: str = ""
    history: str = ""
    """Its effect in one sentence."""
    actions: int = 0
    lasting: bool = False
    """True if it had an effect that no rewind undoes."""
    value: float | None = None
    visits: int | None = None

    @property
    def title(self) -> str:
        """Its number, its parent, and the first line of its code."""
        first, _, more = (self.mapped or self.code).strip().partition("\n")
        start = "" if self.parent is None else f", after {self.parent}"
        return f"{self.number}{start}: {first}{' ...' if more else ''}"

    @property
    def status(self) -> str:
        """The fate."""
        return self.fate


class Branch(BranchTried):
    """An idea in progress. ``cell`` is the number of the cell that first ran it."""

    model_config = ConfigDict(frozen=False)

    fate: Fate = NOT_TRIED
    thought: Thought = Field(default=Thought(), exclude=True)
    _span: Span[BranchTried] | None = PrivateAttr(default=None)
    """Its span, which begins with its first trial."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def span_fields(self) -> dict[str, Any]:
        """The fields of its span."""
        return {name: getattr(self, name) for name in BranchTried.model_fields}

    def record_run(self, code: str, *, is_first: bool) -> None:
        """Record the code of a run, if it differs from the original or is not the first run."""
        if not is_first:
            self.again = (*self.again, code)
        elif code != self.code:
            self.mapped = code

    @property
    def summary(self) -> str:
        """Its effect in one sentence."""
        if self.history:
            return self.history
        code, _, more = self.code.strip().partition("\n")
        why, _, _ = self.why.partition("\n")
        return f"{code}{' ...' if more else ''} -> {why or 'nothing was said of it'}"


@dataclass(eq=False)
class Moment:
    """An accepted moment of a round, after ``depth`` branches.

    ``page`` is the observation; ``written_for`` is the observation for which the ideas were written; ``seen`` is the
    text for prompts: the page and the report on the actions before it; ``scene`` is the environment's scene.
    """

    page: str
    seen: str
    scene: str
    subtask: int = 0
    branch: Branch | None = None
    depth: int = 0
    mark: Mark | None = None
    actions: tuple[str, ...] = ()
    """Actions from the previous moment to this one."""
    written_for: str = ""

    def update_page(self, page: str, seen: str, scene: str) -> None:
        """Set the page, if it has changed after a return."""
        if page != self.page:
            self.page, self.seen, self.scene = page, seen, scene


class Tree:
    """All branches of a round. ``path`` holds those that led to the current moment.

    The span of a branch begins with its first trial and ends when that of the next branch begins. Later changes of its
    fate update it. Branches that were never needed are recorded at the end of the round.
    """

    def __init__(self, scope: Scope, number: int) -> None:
        self._scope, self._number = scope, number
        self.branches: list[Branch] = []
        self.tried: list[Branch] = []
        self.path: list[Branch] = []

    def grow(self, moment: Moment, subtask: str, idea: int, code: str, thought: Thought) -> Branch:
        """Return a new branch for a moment."""
        moment.written_for = moment.page
        parent = moment.branch.number if moment.branch else None
        fields = {"parent": parent, "subtask": subtask, "idea": idea, "code": code, "thought": thought}
        self.branches.append(Branch(round=self._number, number=len(self.branches), **fields))
        return self.branches[-1]

    def keep(self, branch: Branch) -> None:
        """Add a branch to the path."""
        branch.fate = "kept"
        self.path.append(branch)
        self.record_changes()

    def return_to(self, moment: Moment) -> None:
        """Mark the branches kept since a moment as abandoned."""
        for branch in self.path[moment.depth :]:
            branch.fate = "abandoned"
        del self.path[moment.depth :]
        self.record_changes()

    def begin(self, branch: Branch, cell: int | None) -> None:
        """Try a branch for the first time; ``cell`` is the number of the cell that runs it."""
        self.record_changes()
        if self.tried and (last := self.tried[-1]._span):
            last.end()
        branch.cell = cell
        self.tried.append(branch)
        branch._span = self._scope.span(BranchTried(**branch.span_fields | {"fate": ""}))

    def deeds(self, *, line_only: bool = False) -> Sequence[str]:
        """Return the effects of the branches tried, in order; with ``line_only``, without undone branches."""
        return [
            _deed(branch, branch in self.path)
            for branch in self.tried
            if branch.fate != NOT_TRIED and (branch in self.path or not line_only)
        ]

    def record_changes(self) -> None:
        """Update the spans of the branches tried."""
        for branch in self.tried:
            if branch._span is not None and branch.fate != NOT_TRIED:
                branch._span.update(**branch.span_fields)

    def end(self) -> None:
        """Record the fate of every branch at the end of the round."""
        for branch in self.branches:
            if branch._span is None:
                self._scope.note(BranchTried(**branch.span_fields))
            else:
                branch._span.end(**branch.span_fields)


def _deed(branch: Branch, is_on_path: bool) -> str:
    suffix = "" if is_on_path or branch.fate == "over" else LASTING if branch.lasting else TAKEN_BACK
    return f"{branch.summary}{suffix}"


class SearchFigures(Figures):
    """The figures under ``search`` in ``--json``. Means are over played episodes, rates over all tasks.

    Actions that a rewind undid count, too (Devil's Advocate, table 1). A solved episode was solved in its last round.
    """

    key = "search"

    mean_actions_first: float | None
    mean_actions_last: float | None
    """Mean numbers of actions in the first and in the last round."""
    mean_revisions: float | None
    solved_by_round: tuple[int, ...]
    """Numbers of tasks solved within one round, two, and so on."""
    success_by_round: tuple[float, ...]
    """Shares of all tasks solved within one round, two, and so on."""
    branches: dict[Fate, int]
    """Numbers of branches by fate, remedies that were never needed included."""
    remedies_tried: int
    """Number of remedies that were tried."""
    remedies_kept: int
    """Number of remedies that were kept to the end."""
    lasting: int
    """Number of actions with an effect that no rewind undoes."""
    lasting_gone_behind: int
    """Number of those actions that were nevertheless rewound."""

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run. Return None without rounds and branches."""
        searches = [SearchRecord(played.ending, played.held(PlanMade), played.held(BranchTried)) for played in episodes]
        if not any(search.plans or search.branches for search in searches):
            return None
        played = [search for search in searches if search.ending.outcome.played]
        ends = Counter(search.rounds for search in searches if search.ending.outcome.solved)
        most = max((search.rounds for search in played), default=1)
        solved = tuple(accumulate(ends[number] for number in range(1, most + 1)))
        branches = [branch for search in searches for branch in search.branches]
        plans = [plan for search in searches for plan in search.plans]
        remedies = [branch for branch in branches if branch.idea and branch.fate != NOT_TRIED]
        return cls(
            mean_actions_first=mean_of(search.actions(0) for search in played),
            mean_actions_last=mean_of(search.actions(search.rounds - 1) for search in played),
            mean_revisions=mean_of(sum(plan.revision for plan in search.plans) for search in played),
            solved_by_round=solved,
            success_by_round=tuple(count / len(episodes) for count in solved),
            branches=dict(Counter(branch.fate for branch in branches).most_common()),
            remedies_tried=len(remedies),
            remedies_kept=sum(branch.fate == "kept" for branch in remedies),
            lasting=sum(plan.lasting for plan in plans),
            lasting_gone_behind=sum(plan.lasting_gone_behind for plan in plans),
        )

    def tell(self) -> Iterable[str]:
        """Return the rounds, then the branches, then the actions that could not be undone."""
        within = ", ".join(f"{number}: {share:.1%}" for number, share in enumerate(self.success_by_round, 1))
        yield (
            f"Actions per task: {format_figure(self.mean_actions_first)} in the first round and "
            f"{format_figure(self.mean_actions_last)} in the last; plans revised "
            f"{format_figure(self.mean_revisions)} times. Solved within N rounds: {within}."
        )
        if self.branches:
            fates = ", ".join(f"{fate} {count}" for fate, count in self.branches.items())
            yield f"Branches: {fates}; remedies tried {self.remedies_tried}, kept {self.remedies_kept}."
        if self.lasting:
            yield (
                f"Actions whose effects a rewind cannot undo: {self.lasting}; rewound past all the same: "
                f"{self.lasting_gone_behind}."
            )


class SearchRecord(NamedTuple):
    """One episode with its plans and branches."""

    ending: Ending
    plans: Sequence[PlanMade]
    branches: Sequence[BranchTried]

    @property
    def rounds(self) -> int:
        """The number of recorded rounds, at least one."""
        return 1 + max((*(plan.round for plan in self.plans), *(branch.round for branch in self.branches)), default=0)

    def actions(self, number: int) -> int:
        """Return the number of counted actions of a round."""
        return sum(plan.actions for plan in self.plans if plan.round == number)
