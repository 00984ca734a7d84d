"""What is tried in a round: branches of code, the moments that they lead to, and what became of each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from planbook.planner.frames import Mark
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, Span
from planbook.planner.types import Thought

Fate = Literal["", "kept", "turned back", "failed", "over", "not tried", "abandoned"]
"""Kept: it fitted its sub-task; abandoned: later left by going back to before it. Turned back: it did not fit. Failed:
its code ended in an error. Over: the episode or the round ended in it. Not tried: never needed. Empty: being tried."""
NOT_TRIED: Fate = "not tried"
TAKEN_BACK = " (taken back since)"
LASTING = " (taken back since, but for what it stored for good)"


class PlanMade(Payload):
    """A round, by its plan: a list of sub-tasks."""

    span = "plan"

    round: int
    """From 0."""
    parts: tuple[str, ...]
    revision: bool = False
    why: str = ""
    """What a review of the history said."""
    actions: int = 0
    """Actions that count, taken under it, whether or not a rewind undid them; as all that follows, known at its end."""
    lasting: int = 0
    """Those that changed what no rewind brings back."""
    lasting_gone_behind: int = 0
    """Those of them that a rewind went back behind all the same."""

    @property
    def title(self) -> str:
        """Name the round, and say how many parts its plan has."""
        return f"round {self.round + 1}: {'; '.join(self.parts)}"


class BranchTried(Payload):
    """A node of what was tried: some code, in the state that its ``parent`` led to."""

    span = "branch"

    round: int
    number: int
    parent: int | None = None
    """None: the start of the round."""
    subtask: str
    idea: int = 0
    """0 is the first idea, from 1 on the remedies that were thought of beforehand."""
    code: str
    cell: int | None = None
    """The number of the cell that ran it, in its frame."""
    mapped: str = ""
    """The code as it was run first, where the page had changed."""
    again: tuple[str, ...] = ()
    """The code of each later time, where the way was walked again."""
    fate: Fate
    why: str = ""
    history: str = ""
    """What it did, in a sentence."""
    actions: int = 0
    lasting: bool = False
    """Whether it changed what a rewind does not bring back."""
    value: float | None = None
    visits: int | None = None

    @property
    def title(self) -> str:
        """Show its code in a line, with its number and what it starts from."""
        first, _, more = (self.mapped or self.code).strip().partition("\n")
        start = "" if self.parent is None else f", after {self.parent}"
        return f"{self.number}{start}: {first}{' ...' if more else ''}"

    @property
    def status(self) -> str:
        """Say what became of it."""
        return self.fate


@dataclass(eq=False)
class Branch:
    """One idea. ``parent`` is the branch from whose end it starts; ``cell`` numbers the cell that first ran it."""

    number: int
    parent: int | None
    subtask: str
    idea: int
    code: str
    cell: int | None = None
    mapped: str = ""
    again: list[str] = field(default_factory=list)
    """The code of each later time, where the way was walked again."""
    fate: Fate = "not tried"
    why: str = ""
    history: str = ""
    actions: int = 0
    lasting: bool = False
    value: float | None = None
    visits: int | None = None
    thought: Thought = field(default_factory=Thought)
    span: Span[BranchTried] | None = None
    """From its first trial on."""

    @property
    def known(self) -> dict[str, Any]:
        """The fields of its span, but for the round."""
        names = BranchTried.model_fields.keys() - {"round"}
        return {name: getattr(self, name) for name in names} | {"again": tuple(self.again)}

    def ran_as(self, code: str, *, is_first: bool) -> None:
        """Note the code that was run; what the first time was run stays told."""
        if not is_first:
            self.again.append(code)
        elif code != self.code:
            self.mapped = code

    @property
    def told(self) -> str:
        """What was done, in a sentence."""
        if self.history:
            return self.history
        code, _, more = self.code.strip().partition("\n")
        why, _, _ = self.why.partition("\n")
        return f"{code}{' ...' if more else ''} -> {why or 'nothing was said of it'}"


@dataclass(eq=False)
class Moment:
    """A moment of a round that was found good; ``depth`` branches led to it.

    ``page`` is what the world shows, ``written_for`` what it showed when the ideas for this moment were had.
    ``seen`` is what prompts tell: the page and what led to it.
    """

    page: str
    seen: str
    subtask: int = 0
    branch: Branch | None = None
    depth: int = 0
    mark: Mark | None = None
    actions: tuple[str, ...] = ()
    """What was done to come here from the moment before."""
    written_for: str = ""

    def looks(self, page: str, seen: str) -> None:
        """Come back to, it looks like this."""
        if page != self.page:
            self.page, self.seen = page, seen


class Tree:
    """All branches of a round; ``path`` are those that led to the present moment.

    The span of a branch begins when it is first tried and ends with the next one's; what becomes of it later updates
    it. The spans of those that were never needed are moments at the end of the round.
    """

    def __init__(self, scope: Scope, number: int) -> None:
        self._scope, self._number = scope, number
        self.branches: list[Branch] = []
        self.tried: list[Branch] = []
        self.path: list[Branch] = []

    def grow(self, moment: Moment, subtask: str, idea: int, code: str, thought: Thought) -> Branch:
        """A new idea for a moment as it looks now."""
        moment.written_for = moment.page
        parent = moment.branch.number if moment.branch else None
        self.branches.append(Branch(len(self.branches), parent, subtask, idea, code, thought=thought))
        return self.branches[-1]

    def keep(self, branch: Branch) -> None:
        """The branch led on to the present moment."""
        branch.fate = "kept"
        self.path.append(branch)
        self.tell()

    def back_to(self, moment: Moment) -> None:
        """What was kept since is abandoned."""
        for branch in self.path[moment.depth :]:
            branch.fate = "abandoned"
        del self.path[moment.depth :]
        self.tell()

    def begin(self, branch: Branch, cell: int | None) -> None:
        """Try a branch for the first time; ``cell`` is the number of the cell that runs it."""
        self.tell()
        if self.tried and (last := self.tried[-1].span):
            last.end()
        branch.cell = cell
        self.tried.append(branch)
        branch.span = self._scope.span(BranchTried(round=self._number, **branch.known | {"fate": ""}))

    def deeds(self, *, line_only: bool = False) -> Sequence[str]:
        """What was done, in order; by default with what was taken back since."""
        return [
            _deed(branch, branch in self.path)
            for branch in self.tried
            if branch.fate != "not tried" and (branch in self.path or not line_only)
        ]

    def tell(self) -> None:
        """Record what is new of the branches that were tried."""
        for branch in self.tried:
            if branch.span is not None and branch.fate != NOT_TRIED:
                branch.span.update(**branch.known)

    def end(self) -> None:
        """Record what became of every branch, now that the round is over."""
        for branch in self.branches:
            if branch.span is None:
                self._scope.note(BranchTried(round=self._number, **branch.known))
            else:
                branch.span.end(**branch.known)


def _deed(branch: Branch, standing: bool) -> str:
    back = "" if standing or branch.fate == "over" else LASTING if branch.lasting else TAKEN_BACK
    return f"{branch.told}{back}"
