"""What is tried in a round: branches of code, the moments that they lead to, and what became of each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from planbook.planner.scope import Scope
from planbook.planner.terms import Mark
from planbook.planner.types import Thought

Fate = Literal["kept", "turned back", "failed", "over", "not tried", "abandoned"]
"""Kept: it fitted its sub-task; abandoned: later left by going back to before it. Turned back: it did not fit. Failed:
its code ended in an error. Over: the episode or the round ended in it. Not tried: never needed."""
TAKEN_BACK = " (taken back since)"
LASTING = " (taken back since, but for what it stored for good)"


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
    """All branches of a round; ``path`` are those that led to the present moment."""

    def __init__(self) -> None:
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

    def back_to(self, moment: Moment) -> None:
        """What was kept since is abandoned."""
        for branch in self.path[moment.depth :]:
            branch.fate = "abandoned"
        del self.path[moment.depth :]

    def deeds(self, *, line_only: bool = False) -> Sequence[str]:
        """What was done, in order; by default with what was taken back since."""
        return [
            _deed(branch, branch in self.path)
            for branch in self.tried
            if branch.fate != "not tried" and (branch in self.path or not line_only)
        ]

    def record(self, scope: Scope, number: int) -> None:
        """Write every branch to the journal, now that its fate is known."""
        for branch in self.branches:
            body: dict[str, Any] = asdict(branch)
            del body["thought"]  # the cell has it
            if not branch.again:
                del body["again"]
            scope.record("branch", round=number, **body)


def _deed(branch: Branch, standing: bool) -> str:
    back = "" if standing or branch.fate == "over" else LASTING if branch.lasting else TAKEN_BACK
    return f"{branch.told}{back}"
