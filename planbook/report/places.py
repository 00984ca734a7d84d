"""The scopes of an episode as a page has them, each with what happened in it."""

from dataclasses import dataclass, field
from typing import ClassVar

from planbook.figures.deeds import Subtask
from planbook.report.evaluated import Passed
from planbook.report.items import Asked, Began, Ended, Noted, Ran, Rewound, Took, Tried
from planbook.report.searched import Searched


@dataclass
class Place:
    """A scope, with what happened in it in order; a scope below it stands where it began."""

    kind: ClassVar[str] = "place"
    path: str
    items: list["Item"] = field(default_factory=list)
    subtask: Subtask | None = None
    """What somebody was given to do there, where that was recorded."""

    @property
    def below(self) -> str:
        """The last two parts of the path: the scope's name and number."""
        return "/".join(self.path.split("/")[-2:])


@dataclass
class Branch:
    """A sub-task: what the executor did with it, and, where that was not enough, how the planner took it apart."""

    kind: ClassVar[str] = "branch"
    executor: Place | None
    planner: Place | None

    @property
    def subtask(self) -> Subtask:
        """As it was left: the planner has the last word."""
        last = self.planner or self.executor
        assert last is not None
        assert last.subtask is not None
        return last.subtask


Item = Took | Asked | Ran | Began | Rewound | Ended | Noted | Place | Branch | Tried | Searched | Passed
