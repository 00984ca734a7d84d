"""The tree of a round: branches of code, the moments that they lead to, the fate of each branch, and their figures."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, PrivateAttr

from planbook.planner.frames import Mark
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, Span
from planbook.planner.strategies.base import Figures, Played, mean_of, told
from planbook.planner.types import Ending, Thought

Fate = Literal["", "kept", "turned back", "failed", "over", "not tried", "abandoned"]
"""``kept``: it fitted its subtask.

``abandoned``: kept at first, then left by returning to an earlier moment. ``turned back``: it did not fit. ``failed``:
its code ended in an error. ``over``: the episode or the round ended in it. ``not tried``: never needed. Empty: being
tried.
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
    """Counted actions of the round, undone ones included. Known, like the fields below, at its end."""
    lasting: int = 0
    """Actions that changed something no rewind restores."""
    lasting_gone_behind: int = 0
    """Those of them that a rewind nevertheless went back behind."""

    @property
    def title(self) -> str:
        """Name the round and list the parts of its plan."""
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
    """0 for the first idea, from 1 on for the remedies."""
    code: str
    cell: int | None = None
    """Number of the cell that ran it, in its frame."""
    mapped: str = ""
    """The code as first run, if it was adapted to a changed page."""
    again: tuple[str, ...] = ()
    """The code of each later run on a way taken again."""
    fate: Fate
    why: str = ""
    history: str = ""
    """What it did, in one sentence."""
    actions: int = 0
    lasting: bool = False
    """True if it changed something that no rewind restores."""
    value: float | None = None
    visits: int | None = None

    @property
    def title(self) -> str:
        """Show its code in one line, with its number and its parent."""
        first, _, more = (self.mapped or self.code).strip().partition("\n")
        start = "" if self.parent is None else f", after {self.parent}"
        return f"{self.number}{start}: {first}{' ...' if more else ''}"

    @property
    def status(self) -> str:
        """Return its fate."""
        return self.fate


class Branch(BranchTried):
    """One idea, in progress. ``cell`` is the number of the cell that first ran it."""

    model_config = ConfigDict(frozen=False)

    fate: Fate = NOT_TRIED
    thought: Thought = Field(default=Thought(), exclude=True)
    _span: Span[BranchTried] | None = PrivateAttr(default=None)
    """Its span, from its first trial on."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    @property
    def known(self) -> dict[str, Any]:
        """The fields of its span."""
        return {name: getattr(self, name) for name in BranchTried.model_fields}

    def ran_as(self, code: str, *, is_first: bool) -> None:
        """Note the code that was run. The code of the first run is kept."""
        if not is_first:
            self.again = (*self.again, code)
        elif code != self.code:
            self.mapped = code

    @property
    def told(self) -> str:
        """Return what it did, in one sentence."""
        if self.history:
            return self.history
        code, _, more = self.code.strip().partition("\n")
        why, _, _ = self.why.partition("\n")
        return f"{code}{' ...' if more else ''} -> {why or 'nothing was said of it'}"


@dataclass(eq=False)
class Moment:
    """A moment of a round that was accepted, after ``depth`` branches.

    ``page`` is what the environment shows; ``written_for`` what it showed when the ideas for this moment were made;
    ``seen`` is the text in prompts: the page and what led to it.
    """

    page: str
    seen: str
    subtask: int = 0
    branch: Branch | None = None
    depth: int = 0
    mark: Mark | None = None
    actions: tuple[str, ...] = ()
    """Actions from the previous moment to this one."""
    written_for: str = ""

    def looks(self, page: str, seen: str) -> None:
        """Take the page as it looks after a return."""
        if page != self.page:
            self.page, self.seen = page, seen


class Tree:
    """All branches of a round; ``path`` holds those that led to the present moment.

    The span of a branch begins with its first trial and ends when the next one begins; later changes of its fate update
    it. Spans of branches that were never needed are moments at the end of the round.
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
        made = {"parent": parent, "subtask": subtask, "idea": idea, "code": code, "thought": thought}
        self.branches.append(Branch(round=self._number, number=len(self.branches), **made))
        return self.branches[-1]

    def keep(self, branch: Branch) -> None:
        """Add a branch to the path."""
        branch.fate = "kept"
        self.path.append(branch)
        self.tell()

    def back_to(self, moment: Moment) -> None:
        """Mark the branches kept since a moment as abandoned."""
        for branch in self.path[moment.depth :]:
            branch.fate = "abandoned"
        del self.path[moment.depth :]
        self.tell()

    def begin(self, branch: Branch, cell: int | None) -> None:
        """Try a branch for the first time; ``cell`` is the number of the cell that runs it."""
        self.tell()
        if self.tried and (last := self.tried[-1]._span):
            last.end()
        branch.cell = cell
        self.tried.append(branch)
        branch._span = self._scope.span(BranchTried(**branch.known | {"fate": ""}))

    def deeds(self, *, line_only: bool = False) -> Sequence[str]:
        """Return what was done, in order; by default undone branches included."""
        return [
            _deed(branch, branch in self.path)
            for branch in self.tried
            if branch.fate != "not tried" and (branch in self.path or not line_only)
        ]

    def tell(self) -> None:
        """Record what has changed in the branches tried."""
        for branch in self.tried:
            if branch._span is not None and branch.fate != NOT_TRIED:
                branch._span.update(**branch.known)

    def end(self) -> None:
        """Record the fate of every branch at the end of the round."""
        for branch in self.branches:
            if branch._span is None:
                self._scope.note(BranchTried(**branch.known))
            else:
                branch._span.end(**branch.known)


def _deed(branch: Branch, standing: bool) -> str:
    back = "" if standing or branch.fate == "over" else LASTING if branch.lasting else TAKEN_BACK
    return f"{branch.told}{back}"


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
